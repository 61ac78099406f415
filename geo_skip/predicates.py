"""From a leaf of the WHERE tree to what it asks: which geometry of the table, and which question about it.

Sedona's functions, and those of `geo_skip.register`, with the constant on either side:

    ST_Contains ST_Within ST_Covers ST_CoveredBy ST_Intersects ST_Equals ST_Touches ST_Overlaps ST_Crosses    have a point in common
    NOT of containment by the constant, NOT ST_Intersects, ST_Disjoint                                        not inside of it
    ST_DWithin, comparisons of ST_Distance, ST_DistanceSphere, ST_DistanceSpheroid                            distances
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from data_skip.clause import Clause, Named, Text, Whole
from data_skip.expression import Call, Expression, Literal, name_of
from data_skip.filters import Spark
from data_skip.plugin import Interval, ValueSet, satisfying
from geo_skip import geometry
from geo_skip.digests import registered
from geo_skip.questions import Distance, Meets, NotInside, Question, Region, Regions, SphereDistance

_FIRST, _SECOND, _EITHER = (0,), (1,), (0, 1)
# A relation that requires a common point; at which places of the constant it holds wherever the geometry is inside of the constant.
_RELATIONS = {
    "ST_Contains": _FIRST,
    "ST_Covers": _FIRST,
    "ST_Within": _SECOND,
    "ST_CoveredBy": _SECOND,
    "ST_Intersects": _EITHER,
    "ST_Equals": (),
    "ST_OrderingEquals": (),
    "ST_Touches": (),
    "ST_Overlaps": (),
    "ST_Crosses": (),
}
_DISTANCES = ("ST_Distance", "ST_DistanceSphere", "ST_DistanceSpheroid")
_POINTS = ("ST_Point", "ST_MakePoint", "ST_PointZ", "ST_PointM", "ST_PointZM")  # x and y come first
_READERS = ("ST_GeomFromWKB", "ST_GeomFromEWKB", "ST_GeomFromWKT", "ST_GeomFromText", "ST_GeometryFromText", "ST_GeomFromGeoJSON")
_EARTH = 6371008.0  # metres, as Sedona has it
_ELLIPSOID = 0.006  # distances on WGS 84 and on that sphere differ by less
_ROUNDING = 1e-6
_FEW = 8  # operands of an OR, which are asked one by one


@dataclass(frozen=True)
class Subject:
    """The geometry of the table that a predicate speaks of: a point of two expressions, or one of some equivalent expressions."""

    point: tuple[Expression, Expression] | None  # x, y
    forms: tuple[Expression, ...]

    def is_point_of(self, x: Expression, y: Expression) -> bool:
        """Whether it is the point of these two numbers."""
        return self.point == (number(x), number(y))


@dataclass(frozen=True)
class Asked:
    """What a leaf asks."""

    subject: Subject
    question: Question


def answer(node: Expression, text: Text, clause: Clause) -> Clause:
    """The clause of what a node asks; `text`: in words for people."""
    return Whole(text, clause) if name_of(node) == "Or" else Named(text, clause)


def number(expression: Expression) -> Expression:
    """A number without a cast to double, which changes nothing about it, or no more than boxes have as a margin."""
    match expression:
        case Call("Cast", [inner]) if expression.type == "double" and geometry.is_number(inner.type):
            return inner
    return expression


def asked(node: Expression, spark: Spark) -> Iterator[Asked]:
    """What a normalised leaf asks about geometry, or a long OR: mostly nothing, or one thing. Nothing about empty regions."""
    match node:
        case Call("And"):
            return
        case Call("Or", operands):
            yield from _any(operands, spark) if len(operands) > _FEW else ()
            return
        case Call("Not", [Call() as inner]):
            call, negated = _function(inner), True
        case Call():
            call, negated = _function(node), False
        case _:
            return
    if call is not None and call.name == "ST_DWithin":
        yield from _within_distance(call, negated)
    elif call is not None and call.name in (*_RELATIONS, "ST_Disjoint"):
        yield from _related(call, negated)
    else:
        yield from _compared(node, spark)


def _any(alternatives: Sequence[Expression], spark: Spark) -> Iterator[Asked]:
    """What an OR asks as a whole, where each of its operands asks whether the same geometry meets a region: whether it meets one."""
    regions: list[Region] = []
    subjects: list[Subject] = []
    for alternative in alternatives:
        match list(asked(alternative, spark)):
            case [Asked(about, Meets(Region() as region, ()))] if about in (subjects or [about]):
                subjects.append(about)
                regions.append(region)
            case _:
                return
    yield Asked(subjects[0], Meets(Regions(regions)))


def _function(call: Call) -> Call | None:
    """The call as one of Sedona's, over a constant and a geometry; None where it is none."""
    if call.name != "PythonUDF":
        return call
    name = registered(call)
    if name is None or len(call) != 3:
        return None
    region, lat, lng = call
    return Call(call.type, None, name, (region, Call("point", None, "ST_Point", (lng, lat))))


def _sides(call: Call) -> tuple[Region, int, Subject] | None:
    """The constant, its place, and the other operand; None where not exactly one of the first two operands is constant."""
    places = [i for i in _EITHER if isinstance(call[i], Literal)]
    if len(places) != 1:
        return None
    place = places[0]
    shape = geometry.constant(call[place])
    if shape is None or geometry.nowhere(shape):
        return None
    return Region(shape), place, subject(call[1 - place])


def subject(expression: Expression) -> Subject:
    """The geometry that an expression is."""
    forms = [expression]
    while isinstance(expression, Call) and expression.name == "ST_SetSRID":  # leaves the coordinates as they are
        expression = expression[0]
        forms.append(expression)
    point = None
    match expression:
        case Call(name, [x, y, *_]) if name in _POINTS:
            point = number(x), number(y)
        case Call(name, [inner, *rest]) if name in _READERS and all(isinstance(other, Literal) for other in rest):
            forms.append(inner)
    return Subject(point, tuple(forms))


def _related(call: Call, negated: bool) -> Iterator[Asked]:
    if (sides := _sides(call)) is None:
        return
    region, place, about = sides
    if call.name == "ST_Disjoint":
        yield Asked(about, Meets(region) if negated else NotInside(region))
    elif call.name == "ST_Equals" and not negated:  # where one is invalid, JTS may find no difference to any other
        yield from [Asked(about, Meets(region, ("invalid_count",)))] if region.solid else []
    elif not negated:
        yield Asked(about, Meets(region))
    elif place in _RELATIONS[call.name]:
        yield Asked(about, NotInside(region))


def _within_distance(call: Call, negated: bool) -> Iterator[Asked]:
    match call.operands:
        case [_, _, Literal(float() as limit), *rest] if limit == limit:
            near = ValueSet((Interval(high=limit, high_closed=True),))
            values = near.complement(null=False) if negated else near
            match rest:
                case [] | [Literal(False)]:
                    yield from _at_distance(Call("double", None, "ST_Distance", call.operands[:2]), values)
                case [Literal(True)]:
                    yield from _at_distance(Call("double", None, "ST_DistanceSpheroid", call.operands[:2]), values)


def _compared(node: Expression, spark: Spark) -> Iterator[Asked]:
    """What a leaf asks of a distance that is somewhere in it."""
    for part in node.walk():
        call = _function(part) if isinstance(part, Call) else None
        if call is not None and call.name in _DISTANCES:
            values = satisfying(node, part, spark)
            if values is not None and not values.null:
                yield from _at_distance(call, values)


def _at_distance(call: Call, values: ValueSet) -> Iterator[Asked]:
    if (sides := _sides(call)) is None:
        return
    region, _, about = sides
    match call.name, call.operands[2:]:
        case "ST_Distance", []:
            yield Asked(about, Distance(region, values))
        case "ST_DistanceSphere", []:
            yield Asked(about, SphereDistance(region, values, _EARTH, _ROUNDING))
        case "ST_DistanceSphere", [Literal(float() as radius)] if 0 < radius < float("inf"):
            yield Asked(about, SphereDistance(region, values, radius, _ROUNDING))
        case "ST_DistanceSpheroid", []:
            yield Asked(about, SphereDistance(region, values, _EARTH, _ELLIPSOID))
