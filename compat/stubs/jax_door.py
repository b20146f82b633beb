"""Stubs of the JAX door, from what its modules have at run time: which names, with which parameters and defaults.

A module exports what JAX's has of that name: JAX is at hand here, as in all tests. Types are those that the code says;
where it says Any, those of `jax_types`.
"""

from __future__ import annotations

import ast
import enum
import functools
import importlib
import inspect
import pkgutil
import sys
import types
import typing
import warnings
from collections import abc
from typing import Any

import numpy

import lazynp.jax
from lazynp.jax.array import Array
from lazynp.jax.at import IndexUpdateRef
from lazynp.jax.numpy.matrices import Concatenator, Grid
from lazynp.jax.numpy.types import ScalarType
from lazynp.jax.numpy.ufunc import ufunc

from . import jax_types
from .jax_types import words

ROOT = "lazynp.jax"
# Exported beside JAX's names.
OWN = {"": ("__version__", "__version_info__", "install")}
# Names whose stub is written by hand, and where it is: relative to `lazynp-stubs`.
TRANSFORMATIONS = frozenset(
    words("associative_scan checkpoint closure_convert cond custom_gradient custom_jvp custom_vjp fori_loop grad")
    + words("hessian jacfwd jacobian jacrev jvp linear_transpose linearize remat scan stop_gradient switch")
    + words("value_and_grad vjp vmap while_loop")
)
HAND = {
    **{name: "_transformations" for name in TRANSFORMATIONS},
    "jit": "jax._stages",
    "Array": "jax.array",
    "ndarray": "jax.array",
    "ArrayLike": "jax._types",
    "DTypeLike": "jax._types",
    "ufunc": "jax._types",
    "config": "jax._types",
}
KNOWN = frozenset(
    words("AbstractContextManager Any Array ArrayLike Axis Callable DTypeLike Iterator Literal Mapping NamedTuple None")
    + words("Sequence Shape np bool bytes complex dict float frozenset int list object set slice str tuple type")
)
TYPING = frozenset({"Any", "Literal", "NamedTuple", "overload"})
BUILTINS = frozenset(words("bool bytes complex dict float frozenset int list object set slice str tuple type"))
METHODS = frozenset(
    words("__init__ __call__ __enter__ __exit__ __len__ __iter__ __getitem__ __contains__ __hash__ __eq__ __getattr__")
)


def modules() -> dict[str, tuple[Any, Any]]:
    """By their names below `jax`, the modules that both have: ours and JAX's."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for module in pkgutil.walk_packages(lazynp.jax.__path__, f"{ROOT}."):
            importlib.import_module(module.name)
        # Those that have a file, and those that tables make.
        paths = ["", *sorted(name.removeprefix(f"{ROOT}.") for name in sys.modules if name.startswith(f"{ROOT}."))]
        found: dict[str, tuple[Any, Any]] = {}
        for path in paths:
            try:
                theirs = importlib.import_module(f"jax.{path}".rstrip("."))
            except ImportError:
                continue
            found[path] = importlib.import_module(f"{ROOT}.{path}".rstrip(".")), theirs
    found.pop("config", None)  # an attribute in both
    return found


def names_of(path: str, ours: Any, theirs: Any) -> list[str]:
    """The names that a module exports."""
    public = {n for n in set(dir(ours)) & set(dir(theirs)) if not n.startswith("_")}
    public -= {
        n for n in public if getattr(ours, n) is getattr(typing, n, None) or getattr(ours, n) is getattr(abc, n, None)
    }
    return sorted(public | set(OWN.get(path, ())))


def plain(value: Any) -> Any:
    """The function that is behind what users call."""
    return value.__wrapped__ if type(value).__name__ == "Boundary" else value


class Stub:
    """The stub of one module: its lines, and what they need to be imported."""

    def __init__(self, path: str, homes: dict[type, str], names: list[str]) -> None:
        self.path, self.homes, self.names = path, homes, names
        self.needed: set[str] = set()
        self.lines: list[str] = []

    def kind(self, annotation: Any) -> str:
        """An annotation as text, `Any` where it names what is not public."""
        if annotation is inspect.Parameter.empty or annotation is Any:
            return "Any"
        if annotation is None:
            return "None"
        if isinstance(annotation, type):
            annotation = annotation.__name__
        text = str(annotation).removeprefix("typing.")
        try:
            tree = ast.parse(text, mode="eval")
        except SyntaxError:
            return "Any"
        classes = {cls.__name__: module for cls, module in self.homes.items()}
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and node.id not in KNOWN:
                if node.id not in classes:
                    return "Any"
            elif isinstance(node, ast.Attribute) and ast.unparse(node) != "np.ndarray":
                return "Any"
        if "Any |" in text or text.endswith("| Any"):
            return "Any"
        return text

    def use(self, text: str) -> str:
        """Note what a type names; a builtin that the module has another meaning for gets its module."""
        tree = ast.parse(text, mode="eval")
        here = set(self.names)

        class Renamed(ast.NodeTransformer):
            def visit_Name(_, node: ast.Name) -> ast.AST:
                if node.id in BUILTINS and node.id in here:
                    self.needed.add("builtins")
                    return ast.Attribute(ast.Name("builtins"), node.id)
                self.needed.add(node.id)
                return node

        return ast.unparse(Renamed().visit(tree))

    def default(self, value: Any) -> str:
        plain = value is None or type(value) in (bool, int, str) or type(value) is float and value == value
        return repr(value) if plain and value not in (float("inf"), -float("inf")) else "..."

    def parameter(self, where: str, p: inspect.Parameter, of_arrays: bool) -> str:
        """One parameter with its type and default."""
        kind = self.kind(p.annotation)
        asked = jax_types.ONE_PARAMETER.get(f"{where}.{p.name}")
        if asked:
            kind = asked
        elif kind == "Any" and of_arrays and p.kind is not p.VAR_KEYWORD:
            kind = jax_types.PARAMETERS.get(p.name, "Any")
            if kind == "Shape" and where.split(".")[0] in ("lax", "random"):
                kind = "Dimensions"  # one number is no shape there
        stars = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
        if p.default is None and not stars and kind not in ("Any", "None", "Axis") and "None" not in kind:
            kind += " | None"
        kind = self.use(kind)
        return f"{stars}{p.name}: {kind}" + (f" = {self.default(p.default)}" if p.default is not p.empty else "")

    def function(self, name: str, f: Any, where: str, indent: str = "", bound: str = "") -> str:
        """`def name(...) -> ...: ...`; `bound`: what the first parameter is called instead."""
        try:
            signature = inspect.signature(f)
        except (TypeError, ValueError):
            return f"{indent}{name}: Any\n"
        of_arrays = where.split(".")[0] in jax_types.OF_ARRAYS and where not in jax_types.OF_ANYTHING
        parameters = list(signature.parameters.values())
        parameters = [
            p for p in parameters if not p.name.startswith("_") or p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
        ]
        texts = []
        if bound:
            takes_it = parameters and parameters[0].kind < inspect.Parameter.VAR_POSITIONAL
            parameters = parameters[1:] if takes_it else parameters
            texts.append(bound)
        before = None
        for p in parameters:
            if before is p.POSITIONAL_ONLY and p.kind is not p.POSITIONAL_ONLY:
                texts.append("/")
            if p.kind is p.KEYWORD_ONLY and before not in (p.KEYWORD_ONLY, p.VAR_POSITIONAL):
                texts.append("*")
            texts.append(self.parameter(where, p, of_arrays))
            before = p.kind
        if before is inspect.Parameter.POSITIONAL_ONLY and texts[-1] != bound:
            texts.append("/")
        result = self.result(where, signature, of_arrays)
        if is_context(f) or str(signature.return_annotation) == "Override":
            self.needed.add("AbstractContextManager")
            inner = result.removeprefix("Iterator[").removesuffix("]") if result.startswith("Iterator[") else "Any"
            result = f"AbstractContextManager[{inner}]"
        return f"{indent}def {name}({', '.join(texts)}) -> {self.use(result)}: ...\n"

    def result(self, where: str, signature: inspect.Signature, of_arrays: bool) -> str:
        """The type of a function's result."""
        if where in jax_types.RESULTS:
            return jax_types.RESULTS[where]
        kind = "None" if where.endswith("__init__") else self.kind(signature.return_annotation)
        if kind == "None" or not of_arrays:
            return kind
        return "Array" if kind == "Any" else kind.replace("Any", "Array")

    def described(self, cls: type) -> str:
        """A class, with what is public in it."""
        inner: list[str] = []
        base = self.base(cls)
        if issubclass(cls, enum.Enum):
            self.needed.add("enum")
            members = [f"    {member.name} = {member.value!r}\n" for member in cls if type(member.value) in (int, str)]
            members += [f"    {member.name} = ...\n" for member in cls if type(member.value) not in (int, str)]
            return f"class {cls.__name__}(enum.Enum):\n" + "".join(members)
        fields = getattr(cls, "_fields", None) if issubclass(cls, tuple) else None
        annotations: dict[str, Any] = {}
        members: dict[str, Any] = {}
        for parent in reversed(cls.__mro__):
            if parent.__module__.startswith("lazynp") and (parent is cls or parent not in self.homes):
                annotations |= inspect.get_annotations(parent)
                members |= vars(parent)
        if fields is not None:
            self.needed.add("NamedTuple")
            base = "NamedTuple"
        for name in fields or annotations:
            if not name.startswith("_"):
                kind = self.kind(annotations.get(name, Any)) if isinstance(annotations.get(name), str) else "Any"
                default = " = ..." if fields is not None and name in cls._field_defaults else ""  # type: ignore[attr-defined]
                inner.append(f"    {name}: {self.use(kind)}{default}\n")
        for name, value in sorted(members.items()):
            if name.startswith("_") and name not in METHODS or name in annotations or name in (fields or ()):
                continue
            inner.append(self.member(name, value, cls))
        inner = [line for line in inner if line]
        return f"class {cls.__name__}{f'({base})' if base else ''}:" + ("\n" + "".join(inner) if inner else " ...\n")

    def member(self, name: str, value: Any, cls: type) -> str:
        """What a class has under a name; nothing where it only has it from `object`."""
        if isinstance(value, (property, functools.cached_property)):
            getter = value.fget if isinstance(value, property) else value.func
            kind = self.use(self.kind(inspect.signature(getter).return_annotation)) if getter else "Any"
            return f"    @property\n    def {name}(self) -> {kind}: ...\n"
        if isinstance(value, (classmethod, staticmethod)):
            first = "cls" if isinstance(value, classmethod) else ""
            decorator = type(value).__name__
            return f"    @{decorator}\n" + self.function(name, value.__func__, "", "    ", first)
        if name == "__eq__":
            return "    def __eq__(self, other: object) -> bool: ...\n" if "bool" not in self.names else ""
        if name == "__hash__":
            return ""
        value = plain(value)
        if isinstance(value, types.FunctionType):
            return self.function(name, value, name if name == "__init__" else "", "    ", "self")
        if name.startswith("__"):
            return ""
        if isinstance(value, type) and value is cls:
            return ""
        return f"    {name}: {self.use('Any')}\n"

    def base(self, cls: type) -> str:
        """The first parent that a stub can name."""
        for parent in cls.__mro__[1:]:
            if parent in self.homes:
                self.needed.add(parent.__name__)
                return parent.__name__
            if parent.__module__ == "builtins" and parent is not object:
                return parent.__name__
        return ""

    def add(self, name: str, value: Any) -> None:
        """The lines of one name."""
        where = f"{self.path}.{name}".lstrip(".")
        if where in jax_types.OVERLOADS:
            text = jax_types.OVERLOADS[where].lstrip()
            self.needed |= {"overload", "Literal", "Array", "ArrayLike", "DTypeLike", "Axis", "Any", "builtins"}
            self.lines.append(text)
        elif name in HAND and (name not in TRANSFORMATIONS or not inspect.ismodule(value)):
            home = HAND[name]
            if home.removeprefix("jax.") == self.path.split(".")[-1] and home != "_transformations":
                return
            up = "." * (self.depth() + (1 if home == "_transformations" else 0))
            real = "Array" if name == "ndarray" else name
            self.lines.append(f"from {up}{home.removeprefix('jax.')} import {real} as {name}\n")
        elif isinstance(value, types.ModuleType):
            self.submodule(name, value)
        elif isinstance(value, ScalarType):
            self.lines.append(f"{name}: {self.use('ScalarType')}\n")
        elif isinstance(value, type):
            self.add_class(name, value)
        elif isinstance(value, ufunc):
            self.lines.append(f"{name}: {self.use({1: 'UnaryUfunc', 2: 'BinaryUfunc'}.get(value.nin, 'ufunc'))}\n")
        elif isinstance(value, (Grid, Concatenator)):
            self.lines.append(f"{name}: {self.use(type(value).__name__)}\n")
        elif callable(value) and not isinstance(value, (numpy.dtype, types.GenericAlias)):
            if type(value) in self.homes:
                self.lines.append(f"{name}: {self.use(type(value).__name__)}\n")
            else:
                self.lines.append(self.function(name, value, where))
        else:
            self.lines.append(f"{name}: {self.use(self.constant(value))}\n")

    def constant(self, value: Any) -> str:
        if value is None:
            return "None"
        if isinstance(value, numpy.dtype):
            return "np.dtype[Any]"
        if type(value) in (int, float, str, bool):
            return type(value).__name__
        return type(value).__name__ if type(value) in self.homes else "Any"

    def depth(self) -> int:
        """How many dots lead from this module to `jax`."""
        return 1 if not self.path else len(self.path.split(".")) + (1 if self.path in PACKAGES else 0)

    def submodule(self, name: str, value: types.ModuleType) -> None:
        if value.__name__ == f"{ROOT}.{self.path}".rstrip(".") + f".{name}":
            self.lines.append(f"from . import {name} as {name}\n")

    def add_class(self, name: str, cls: type) -> None:
        home = self.homes.get(cls)
        if home == self.path and cls.__name__ == name:
            self.lines.append(self.described(cls))
        elif home is not None:
            self.lines.append(f"from {'.' * self.depth()}{home} import {cls.__name__} as {name}\n")
        elif cls.__module__ == "numpy" and hasattr(numpy, cls.__name__):
            self.lines.append(f"from numpy import {cls.__name__} as {name}\n")
        elif cls.__module__.startswith("numpy.exceptions"):
            self.lines.append(f"from numpy.exceptions import {cls.__name__} as {name}\n")
        elif cls.__module__ == "builtins":
            self.lines.append(f"{name} = {cls.__name__}\n")
        else:
            self.lines.append(f"{name}: {self.use('Any')}\n")

    def text(self) -> str:
        """All of it."""
        body = "".join(self.lines) + "".join(jax_types.RESULT_CLASSES.get(self.path, []))
        if self.path in jax_types.RESULT_CLASSES:
            self.needed |= {"NamedTuple", "Array"}
        own = {n for n in self.names}
        head = [f"import {m}\n" for m in ("builtins", "enum") if m in self.needed]
        head += ["from contextlib import AbstractContextManager\n"] if "AbstractContextManager" in self.needed else []
        classes = sorted({"Callable", "Iterator", "Mapping", "Sequence"} & self.needed)
        forms = sorted(TYPING & self.needed - own)
        head += [f"from collections.abc import {', '.join(classes)}\n"] if classes else []
        head += [f"from typing import {', '.join(forms)}\n"] if forms else []
        head += ["import numpy as np\n"] if "np" in self.needed else []
        dots = "." * self.depth()
        if "Array" in self.needed and "Array" not in own and self.path != "array":
            head.append(f"from {dots}array import Array\n")
        helpers = words("ArrayLike Axis BinaryUfunc Concatenator DTypeLike Dimensions Grid ScalarType Shape UnaryUfunc")
        used = [n for n in helpers if n in self.needed and n not in own]
        used += ["ufunc"] if "ufunc" in self.needed and "ufunc" not in own else []
        head += [f"from {dots}_types import {', '.join(used)}\n"] if used else []
        for cls, module in sorted(self.homes.items(), key=lambda t: t[0].__name__):
            if (
                cls.__name__ in self.needed - TYPING
                and module != self.path
                and cls.__name__ not in own
                and cls is not Array
            ):
                head.append(f"from {dots}{module} import {cls.__name__}\n")
        return "".join(head) + "\n" + body


PACKAGES: set[str] = set()


def is_context(f: Any) -> bool:
    """Whether a function was made by `contextlib.contextmanager`."""
    wrapped = getattr(f, "__wrapped__", None)
    return inspect.isgeneratorfunction(wrapped) and f.__code__ is not wrapped.__code__


def homes_of(all_modules: dict[str, tuple[Any, Any]]) -> dict[type, str]:
    """For each public class of the door the module whose stub describes it: the first that is named as its own."""
    homes: dict[type, str] = {}
    order = sorted(all_modules, key=lambda path: (path in ("", "core"), path.count("."), path))
    for path in order:
        ours, theirs = all_modules[path]
        for name in names_of(path, ours, theirs):
            value = getattr(ours, name)
            own = isinstance(value, type) and value.__module__.startswith(ROOT) and value.__name__ == name
            first = own and (value not in homes or value.__module__ == f"{ROOT}.{path}")
            if first and name not in HAND and not isinstance(value, ScalarType):
                homes[value] = path
    return homes


def array_stub(homes: dict[type, str]) -> str:
    """`lazynp.jax.array`: the class of arrays, with its operators."""
    stub = Stub("array", homes, [])
    lines = []
    for name in sorted(n for n in dir(Array) if not n.startswith("_")):
        value = plain(inspect.getattr_static(Array, name))
        if name in ("node", "capture", "at"):
            continue
        if isinstance(value, property):
            kind = stub.kind(inspect.signature(value.fget).return_annotation) if value.fget else "Any"
            kind = {"T": "Array", "mT": "Array", "real": "Array", "imag": "Array", "flat": "Array"}.get(name, kind)
            kind = "np.dtype[Any]" if name == "dtype" else kind
            lines.append(f"    @property\n    def {name}(self) -> {stub.use(kind)}: ...\n")
        elif isinstance(value, types.FunctionType):
            # Methods made from functions of `jax.numpy` are typed as those.
            generic = name in (
                "item",
                "tolist",
                "copy_to_host_async",
                "delete",
                "devices",
                "device",
                "addressable_data",
            )
            where = f"numpy.{name}" if not generic and "." not in value.__qualname__ else ""
            lines.append(stub.function(name, value, where, "    ", "self"))
        else:
            lines.append(f"    {name}: {type(value).__name__}\n")
    either = [*[f"__{n}__" for n in jax_types.OPERATORS], *[f"__r{n}__" for n in jax_types.OPERATORS]]
    lines += [f"    def {n}(self, other: Any, /) -> Array: ...\n" for n in either]
    for n in jax_types.COMPARISONS:
        ignored = "  # type: ignore[override]" if n in ("eq", "ne") else ""
        lines.append(f"    def __{n}__(self, other: Any, /) -> Array: ...{ignored}\n")
    lines += [f"    def __{n}__(self, other: Any, /) -> tuple[Array, Array]: ...\n" for n in ("divmod", "rdivmod")]
    lines += [f"    def __{n}__(self) -> Array: ...\n" for n in ("abs", "invert", "neg", "pos", "copy")]
    lines += [f"    def __{n}__(self) -> {n}: ...\n" for n in ("bool", "complex", "float", "int")]
    stub.needed |= {"Any", "Array", "Iterator", "np"}
    stub.names = ["Array"]
    stub.lines = [
        "class Array:\n",
        *lines,
        "    @property\n    def at(self) -> IndexUpdateHelper: ...\n",
        "    __hash__: None  # type: ignore[assignment]\n"
        "    def __array__(\n        self, dtype: Any = None, context: Any = None, copy: bool | None = None\n"
        "    ) -> np.ndarray[Any, np.dtype[Any]]: ...\n"
        "    def __contains__(self, item: Any, /) -> bool: ...\n"
        "    def __dlpack__(self, *, stream: Any = None, max_version: Any = None, **kwargs: Any) -> Any: ...\n"
        "    def __dlpack_device__(self) -> tuple[Any, int]: ...\n"
        "    def __format__(self, spec: str, /) -> str: ...\n"
        "    def __getitem__(self, index: Any, /) -> Array: ...\n"
        "    def __index__(self) -> int: ...\n"
        "    def __iter__(self) -> Iterator[Array]: ...\n"
        "    def __len__(self) -> int: ...\n"
        "    def __reversed__(self) -> Iterator[Array]: ...\n"
        "    def __setitem__(self, index: Any, value: Any, /) -> None: ...  # raises; JAX's stub has it too\n"
        "    def __round__(self, ndigits: int | None = None) -> Array: ...\n\n",
    ]
    return stub.text().replace("\nclass Array", "from .at import IndexUpdateHelper\n\nclass Array", 1)


def at_stub(homes: dict[type, str]) -> str:
    """`lazynp.jax.at`: `x.at[index]` and its methods."""
    stub = Stub("at", homes, [])
    methods = [(n, f) for n, f in vars(IndexUpdateRef).items() if n[0] != "_" and callable(f)]
    lines = [stub.function(n, f, "", "    ", "self") for n, f in methods]
    stub.needed |= {"Any", "Array", "ArrayLike"}
    stub.lines = [
        "class IndexUpdateHelper:\n    def __getitem__(self, index: Any, /) -> IndexUpdateRef: ...\n\n",
        "class IndexUpdateRef:\n    array: Array\n    index: Any\n",
        *[line.replace("values: Any", "values: ArrayLike").replace("-> Any", "-> Array") for line in lines],
    ]
    return stub.text()


def stubs() -> dict[str, str]:
    """The text of each stub of the JAX door, by its path below `lazynp-stubs`."""
    found = modules()
    PACKAGES.update(path for path, (ours, _) in found.items() if hasattr(ours, "__path__"))
    homes = homes_of(found)
    texts = {"jax/array.pyi": array_stub(homes), "jax/at.pyi": at_stub(homes)}
    for path, (ours, theirs) in found.items():
        names = names_of(path, ours, theirs)
        stub = Stub(path, homes, names)
        for name in names:
            stub.add(name, getattr(ours, name))
        place = "/".join(["jax", *filter(None, path.split("."))])
        texts[f"{place}/__init__.pyi" if path in PACKAGES or not path else f"{place}.pyi"] = stub.text()
    return texts
