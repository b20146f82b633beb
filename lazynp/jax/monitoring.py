"""`jax.monitoring`: events that libraries report, and listeners that are told of them, in this process."""

from __future__ import annotations

from collections.abc import Callable

Listener = Callable[..., None]
events: list[Listener] = []
durations: list[Listener] = []
spans: list[Listener] = []
scalars: list[Listener] = []


def tell(listeners: list[Listener], *what: object, **details: str | int) -> None:
    """Call all listeners, also where one of them comes or goes meanwhile."""
    for listener in tuple(listeners):
        listener(*what, **details)


def forget(listeners: list[Listener], callback: Listener) -> None:
    if callback not in listeners:
        raise AssertionError(f"{callback} is not registered")
    listeners.remove(callback)


def record_event(event: str, **kwargs: str | int) -> None:
    """Something has happened."""
    tell(events, event, **kwargs)


def record_event_duration_secs(event: str, duration: float, **kwargs: str | int) -> None:
    """Something has taken so many seconds."""
    tell(durations, event, duration, **kwargs)


def record_event_time_span(event: str, start_time: float, end_time: float, **kwargs: str | int) -> None:
    """Something has lasted from one time to another."""
    tell(spans, event, start_time, end_time, **kwargs)


def record_scalar(event: str, value: float | int, **kwargs: str | int) -> None:
    """Something has this value."""
    tell(scalars, event, value, **kwargs)


def register_event_listener(callback: Listener) -> None:
    """Have `callback(event, **details)` called for events."""
    events.append(callback)


def register_event_duration_secs_listener(callback: Listener) -> None:
    """Have `callback(event, seconds, **details)` called for durations."""
    durations.append(callback)


def register_event_time_span_listener(callback: Listener) -> None:
    """Have `callback(event, start, end, **details)` called for time spans."""
    spans.append(callback)


def register_scalar_listener(callback: Listener) -> None:
    """Have `callback(event, value, **details)` called for values."""
    scalars.append(callback)


def unregister_event_listener(callback: Listener) -> None:
    """Undo `register_event_listener`. Raises AssertionError for what is not registered, as JAX does."""
    forget(events, callback)


def unregister_event_duration_listener(callback: Listener) -> None:
    """Undo `register_event_duration_secs_listener`. Raises AssertionError for what is not registered."""
    forget(durations, callback)


def unregister_event_time_span_listener(callback: Listener) -> None:
    """Undo `register_event_time_span_listener`. Raises AssertionError for what is not registered."""
    forget(spans, callback)


def unregister_scalar_listener(callback: Listener) -> None:
    """Undo `register_scalar_listener`. Raises AssertionError for what is not registered."""
    forget(scalars, callback)


def clear_event_listeners() -> None:
    """Forget all listeners."""
    for listeners in (events, durations, spans, scalars):
        listeners.clear()
