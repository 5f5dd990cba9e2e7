"""mindlite: a deep-learning framework that you can read, with MindSpore 2.x's programming model."""
