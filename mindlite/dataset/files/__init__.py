"""Datasets in files: table.py makes sources of functions; images.py, texts.py, sounds.py, records.py are the functions."""
