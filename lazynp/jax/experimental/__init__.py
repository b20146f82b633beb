"""`jax.experimental`: what programs still import from there."""

from ..absent import absent
from ..callback import io_callback
from . import checkify, mesh_utils, shard_map

__all__ = ["checkify", "io_callback", "mesh_utils", "shard_map"]
__getattr__ = absent(
    __name__,
    {
        "fused mosaic pallas": "its kernels are for GPUs and TPUs. Functions of arrays under jit are compiled here",
        "jax2tf": "there is no TensorFlow here. jax.export writes functions to bytes",
        "array_serialization": "it needs tensorstore. jax.numpy.save writes arrays",
        "control_deps": "operations are done when somebody needs their values. lax.optimization_barrier ties one value "
        "to others",
        "profiler": "XLA's profiles. jax.profiler.trace writes one",
        "colocated_python roofline source_mapper topologies transfer": "it is for machines with other programs of "
        "Google's, or for XLA's texts",
    },
)
