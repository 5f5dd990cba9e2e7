"""Messages of the framework, through Python's logging: the logger "mindlite"."""
import logging

logger = logging.getLogger("mindlite")
debug, info, warning, error, critical = logger.debug, logger.info, logger.warning, logger.error, logger.critical
