"""MindRecord, MindSpore's file format for rows: written and read, in both directions with MindSpore itself.

    layout.py  the format;  encryption.py  encrypted files;  writer.py  FileWriter;  reader.py  FileReader, MindPage, MindDataset
    convert.py  converters
"""
from .convert import Cifar10ToMR, Cifar100ToMR, CsvToMR, ImageNetToMR, MnistToMR, TFRecordToMR
from .encryption import set_dec_mode, set_enc_key, set_enc_mode
from .errors import (MindRecordError, MindRecordException, MRMDefineIndexError, MRMFetchDataError, MRMGetMetaError,
                     MRMInvalidSchemaError, MRMOpenError, ParamTypeError, ParamValueError, PathNotExistsError)
from .reader import FileReader, MindDataset, MindPage
from .writer import FAILED, SUCCESS, FileWriter

__all__ = ["Cifar100ToMR", "Cifar10ToMR", "CsvToMR", "FAILED", "FileReader", "FileWriter", "ImageNetToMR",
           "MRMDefineIndexError", "MRMFetchDataError", "MRMGetMetaError", "MRMInvalidSchemaError", "MRMOpenError", "MindDataset",
           "MindPage", "MindRecordError", "MindRecordException", "MnistToMR", "ParamTypeError", "ParamValueError",
           "PathNotExistsError", "SUCCESS", "TFRecordToMR", "set_dec_mode", "set_enc_key", "set_enc_mode"]
