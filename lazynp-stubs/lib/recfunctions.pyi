# Written by `python -m compat stubs`.
from numpy.lib.recfunctions import *
from numpy.lib.recfunctions import append_fields as append_fields
from numpy.lib.recfunctions import apply_along_fields as apply_along_fields
from numpy.lib.recfunctions import assign_fields_by_name as assign_fields_by_name
from numpy.lib.recfunctions import drop_fields as drop_fields
from numpy.lib.recfunctions import find_duplicates as find_duplicates
from numpy.lib.recfunctions import flatten_descr as flatten_descr
from numpy.lib.recfunctions import get_fieldstructure as get_fieldstructure
from numpy.lib.recfunctions import get_names as get_names
from numpy.lib.recfunctions import get_names_flat as get_names_flat
from numpy.lib.recfunctions import join_by as join_by
from numpy.lib.recfunctions import merge_arrays as merge_arrays
from numpy.lib.recfunctions import rec_append_fields as rec_append_fields
from numpy.lib.recfunctions import rec_drop_fields as rec_drop_fields
from numpy.lib.recfunctions import rec_join as rec_join
from numpy.lib.recfunctions import recursive_fill_fields as recursive_fill_fields
from numpy.lib.recfunctions import rename_fields as rename_fields
from numpy.lib.recfunctions import repack_fields as repack_fields
from numpy.lib.recfunctions import require_fields as require_fields
from numpy.lib.recfunctions import stack_arrays as stack_arrays
from numpy.lib.recfunctions import structured_to_unstructured as structured_to_unstructured
from numpy.lib.recfunctions import unstructured_to_structured as unstructured_to_structured
