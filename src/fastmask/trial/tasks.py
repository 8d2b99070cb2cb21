"""What the model is asked: questions, the grammar of an answer, and a judge that knows no mask.

Values are judged by ``jsonschema-rs``, dates by Python's calendar, statements by SQLite.
"""

from __future__ import annotations

import datetime
import json
import re
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from ..grammar.core import Grammar
from ..sampling import tool_call_schema

__all__ = ["DATE_PATTERN", "SQL_GRAMMAR", "Task", "demo_tasks", "json_judge", "schema_tasks"]

Judge = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class Task:
    """One kind of answer.

    Attributes
    ----------
    name : str
    grammar : Grammar
    judge : callable
        Whether a text is a valid answer.
    questions : tuple of str
    """

    name: str
    grammar: Grammar
    judge: Judge
    questions: tuple[str, ...]


# Judges


def json_judge(schema: Any) -> Judge:
    """Whether a text is JSON, white space around it allowed, that a schema accepts.

    Raises
    ------
    ImportError
        ``jsonschema-rs`` is missing.
    """
    try:
        import jsonschema_rs
    except ImportError:
        raise ImportError(
            "answers are judged by jsonschema-rs: pip install 'fastmask[demo-model]'"
        ) from None
    validator = jsonschema_rs.validator_for(schema, validate_formats=True)

    def judge(text: str) -> bool:
        try:
            return bool(validator.is_valid(json.loads(text)))
        except ValueError:
            return False

    return judge


def is_date(text: str) -> bool:
    """Whether a text is a day of the calendar, written as in 2031-05-17."""
    try:
        datetime.date.fromisoformat(text.strip())
    except ValueError:
        return False
    return re.fullmatch(r"\d{4}-\d\d-\d\d", text.strip(), re.ASCII) is not None


def is_query(text: str) -> bool:
    """Whether SQLite can answer it from the table of books."""
    if not text.lstrip().upper().startswith("SELECT"):
        return False
    database = sqlite3.connect(":memory:")
    try:
        database.execute(_TABLE)
        database.execute(f"EXPLAIN {text}")
    except (sqlite3.Error, ValueError):
        return False
    finally:
        database.close()
    return True


# The demo's tasks

DATE_PATTERN = (
    r"(19|20)[0-9]{2}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])"
    r"|(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|1[0-9]|2[0-8]))"
)
_TABLE = "CREATE TABLE books (title TEXT, author TEXT, year INTEGER, pages INTEGER, price REAL)"
SQL_GRAMMAR = r"""
root ::= "SELECT " ("*" | columns | aggregate) " FROM books" where? order? limit? ";"
columns ::= column (", " column){0,3}
aggregate ::= "COUNT(*)" | ("AVG" | "MIN" | "MAX" | "SUM") "(" number ")"
where ::= " WHERE " test (" AND " test | " OR " test)?
test ::= text (" = " | " LIKE ") string | number " " ("=" | "<" | ">" | "<=" | ">=") " " digits
order ::= " ORDER BY " column (" DESC" | " ASC")?
limit ::= " LIMIT " [1-9] [0-9]?
column ::= text | number
text ::= "title" | "author"
number ::= "year" | "pages" | "price"
string ::= "'" [A-Za-z0-9 .%-]{1,30} "'"
digits ::= "0" | [1-9] [0-9]{0,3}
"""
_TOOLS = [
    {
        "name": "weather",
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string", "minLength": 2, "maxLength": 30},
                "days": {"type": "integer", "minimum": 1, "maximum": 14},
            },
            "required": ["city", "days"],
            "additionalProperties": False,
        },
    },
    {
        "name": "pay",
        "parameters": {
            "type": "object",
            "properties": {
                "amount": {"type": "number", "minimum": 0.01, "maximum": 10000},
                "currency": {"enum": ["USD", "EUR", "GBP"]},
                "to": {"type": "string", "maxLength": 30},
            },
            "required": ["amount", "currency", "to"],
            "additionalProperties": False,
        },
    },
]
_PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 1, "maxLength": 40},
        "age": {"type": "integer", "minimum": 0, "maximum": 120},
        "likes": {
            "type": "array",
            "items": {"type": "string", "maxLength": 25},
            "minItems": 1,
            "maxItems": 4,
        },
    },
    "required": ["name", "age", "likes"],
    "additionalProperties": False,
}


def demo_tasks() -> list[Task]:
    """The tasks of ``fastmask demo --model``: an object, a tool call, a date, a query."""
    calls = tool_call_schema(_TOOLS)
    return [
        Task(
            "JSON object",
            Grammar.from_json_schema(_PERSON, whitespace="single"),
            json_judge(_PERSON),
            (
                "Invent a person. Answer in JSON with name, age and likes (a list), nothing else.",
                "Describe a sailor as a JSON object with the keys name, age and likes (a list).",
            ),
        ),
        Task(
            "tool call",
            Grammar.from_json_schema(calls, whitespace="single", property_order="schema"),
            json_judge(calls),
            (
                'Call a tool: answer only {"name": ..., "arguments": {...}}. There are weather('
                "city, days) and pay(amount, currency, to). How will the weather be in Rome for "
                "the next three days?",
                'Call a tool: answer only {"name": ..., "arguments": {...}}. There are weather('
                "city, days) and pay(amount, currency, to). Send Alice 25 euros.",
            ),
        ),
        Task(
            "date",
            Grammar.from_regex(DATE_PATTERN),
            is_date,
            (
                "When did people first walk on the moon? Answer with the date alone, as "
                "YYYY-MM-DD.",
                "On which day does winter begin in 2031? Answer with the date alone, as "
                "YYYY-MM-DD.",
            ),
        ),
        Task(
            "SQL",
            Grammar.from_gbnf(SQL_GRAMMAR),
            is_query,
            (
                "Write one SQL query over books(title, author, year, pages, price), nothing else: "
                "the titles by Jane Austen, the oldest first.",
                "Write one SQL query over books(title, author, year, pages, price), nothing else: "
                "the mean price of books with more than 300 pages.",
            ),
        ),
    ]


# Twenty schemas


def _text(most: int = 40, **more: Any) -> dict[str, Any]:
    return {"type": "string", "minLength": 1, "maxLength": most, **more}


def _whole(least: int, most: int) -> dict[str, Any]:
    return {"type": "integer", "minimum": least, "maximum": most}


def _list(items: Any, least: int = 0, most: int = 4) -> dict[str, Any]:
    return {"type": "array", "items": items, "minItems": least, "maxItems": most}


def _object(optional: tuple[str, ...] = (), **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": [name for name in properties if name not in optional],
        "additionalProperties": False,
    }


_PLACES = "Rome,Oslo,Lima,Cairo,Kyoto,Perth,Quito,Dublin,Nairobi,Vienna".split(",")
_PEOPLE = (
    "a baker,a pilot,a nurse,a judge,a farmer,a diver,a poet,a chemist,a goalkeeper,a clockmaker"
).split(",")
_THINGS = "a bicycle,a kettle,a lamp,a violin,a tent,a radio,a chair,a camera,a kite,a clock".split(
    ","
)
_STORIES = (
    "a lost ship,a red balloon,two sisters,a talking fox,the last train,a desert city,a quiet spy,"
    "a winter storm,an old library,a stolen painting"
).split(",")
_DISHES = (
    "tomato soup,pancakes,fried rice,apple pie,lentil curry,bean salad,fish stew,garlic bread,"
    "lemon cake,mushroom risotto"
).split(",")

_TREE = {
    "$defs": {
        "node": _object(
            ("children",), name=_text(20), children=_list({"$ref": "#/$defs/node"}, 0, 2)
        )
    },
    "$ref": "#/$defs/node",
}
_SHIPPING = {
    **_object(("pounds", "kilos"), unit={"enum": ["metric", "imperial"]})
    | {
        "properties": {
            "unit": {"enum": ["metric", "imperial"]},
            "kilos": _whole(1, 500),
            "pounds": _whole(1, 1100),
        }
    },
    "if": {"properties": {"unit": {"const": "metric"}}},
    "then": {"required": ["kilos"], "properties": {"pounds": False}},
    "else": {"required": ["pounds"], "properties": {"kilos": False}},
}
_SHAPE = {
    "anyOf": [
        _object(kind={"const": "circle"}, radius=_whole(1, 100)),
        _object(kind={"const": "rectangle"}, width=_whole(1, 100), height=_whole(1, 100)),
    ]
}

#: Name, the keys as a question tells them, schema, what is described, of what.
_SCHEMAS: tuple[tuple[str, str, dict[str, Any], str, list[str]], ...] = (
    (
        "person",
        "name (text), age (number) and likes (list of texts)",
        _PERSON,
        "the person",
        _PEOPLE,
    ),
    (
        "book",
        "title (text), author (text), year (number) and genres (list of texts)",
        _object(
            title=_text(),
            author=_text(),
            year=_whole(1450, 2030),
            genres=_list({"enum": ["crime", "fantasy", "poetry", "romance", "science"]}, 1, 3),
        ),
        "a book about",
        _STORIES,
    ),
    (
        "recipe",
        "name (text), minutes (number) and ingredients (list of objects with name and grams)",
        _object(
            name=_text(),
            minutes=_whole(1, 300),
            ingredients=_list(_object(name=_text(20), grams=_whole(1, 2000)), 1, 3),
        ),
        "a recipe for",
        _DISHES,
    ),
    (
        "address",
        "street (text), number (number), city (text) and postcode (text)",
        _object(
            street=_text(),
            number=_whole(1, 9999),
            city=_text(),
            postcode=_text(10, pattern="^[0-9]{4,5}$"),
        ),
        "an address in",
        _PLACES,
    ),
    (
        "event",
        "name (text), start (YYYY-MM-DD) and end (YYYY-MM-DD)",
        _object(
            ("end",), name=_text(), start=_text(10, format="date"), end=_text(10, format="date")
        ),
        "a festival in",
        _PLACES,
    ),
    (
        "product",
        "name (text), price (number), currency (USD, EUR or GBP) and stock (number)",
        _object(
            name=_text(),
            price={"type": "number", "minimum": 0.01, "maximum": 9999},
            currency={"enum": ["USD", "EUR", "GBP"]},
            stock={"type": ["integer", "null"], "minimum": 0, "maximum": 10000},
        ),
        "the product",
        _THINGS,
    ),
    (
        "weather",
        "city (text), celsius (number), wind (none, light, strong or storm) and rain (boolean)",
        _object(
            city=_text(),
            celsius={"type": "number", "minimum": -60, "maximum": 60},
            wind={"enum": ["none", "light", "strong", "storm"]},
            rain={"type": "boolean"},
        ),
        "the weather in",
        _PLACES,
    ),
    (
        "film",
        "title (text), minutes (number) and cast (list of objects with actor and role)",
        _object(
            title=_text(),
            minutes=_whole(1, 400),
            cast=_list(_object(actor=_text(25), role=_text(25)), 1, 2),
        ),
        "a film about",
        _STORIES,
    ),
    (
        "invoice",
        "id (like INV-20417), lines (list of objects: item, count, cents) and paid (boolean)",
        _object(
            id=_text(12, pattern="^INV-[0-9]{4,8}$"),
            lines=_list(_object(item=_text(25), count=_whole(1, 99), cents=_whole(1, 99999)), 1, 2),
            paid={"type": "boolean"},
        ),
        "an invoice for",
        _THINGS,
    ),
    (
        "contact",
        "name (text), email (text) and phone (like +442071234567)",
        _object(
            ("phone",),
            name=_text(),
            email=_text(40, format="email"),
            phone=_text(16, pattern="^[+][0-9]{6,14}$"),
        ),
        "how to reach",
        _PEOPLE,
    ),
    (
        "palette",
        "name (text) and colors (list of colors like #20452b)",
        _object(name=_text(20), colors=_list(_text(7, pattern="^#[0-9a-f]{6}$"), 2, 4)),
        "a palette of colors for",
        _THINGS,
    ),
    (
        "tree",
        "name (text) and children (list of objects of the same form)",
        _TREE,
        "the parts of",
        _THINGS,
    ),
    (
        "survey",
        "satisfied (1 to 5), again (yes, no or maybe) and comment (text)",
        _object(
            satisfied={"enum": [1, 2, 3, 4, 5]},
            again={"enum": ["yes", "no", "maybe"]},
            comment={"type": ["string", "null"], "maxLength": 60},
        ),
        "a guest's opinion of",
        _DISHES,
    ),
    (
        "call",
        "name (the tool: weather or pay) and arguments (city and days, or amount, currency and to)",
        tool_call_schema(_TOOLS),
        "the call of a tool for the weather or a payment in",
        _PLACES,
    ),
    (
        "place",
        "name (text), latitude (number) and longitude (number)",
        _object(
            name=_text(),
            latitude={"type": "number", "minimum": -90, "maximum": 90},
            longitude={"type": "number", "minimum": -180, "maximum": 180},
        ),
        "where to find",
        _PLACES,
    ),
    (
        "shape",
        "kind (circle or rectangle) and radius, or width and height (numbers)",
        _SHAPE,
        "the shape of",
        _THINGS,
    ),
    (
        "parcel",
        "unit (metric or imperial) and kilos, or pounds (a number)",
        _SHIPPING,
        "the weight of a parcel with",
        _THINGS,
    ),
    (
        "stock",
        "that name what there is, each with a number",
        {
            "type": "object",
            "additionalProperties": _whole(0, 500),
            "propertyNames": {"pattern": "^[a-z ]{2,15}$"},
            "minProperties": 1,
            "maxProperties": 4,
        },
        "what the kitchen has for",
        _DISHES,
    ),
    (
        "tuple",
        "",
        {
            "type": "array",
            "prefixItems": [_text(20), _whole(1, 10), {"type": "boolean"}],
            "items": False,
            "minItems": 3,
        },
        "a museum (name, rank, whether it is open) in",
        _PLACES,
    ),
    (
        "team",
        "leader (text), members (list of texts) and tools (list of texts)",
        _object(
            leader=_text(25),
            members=_list(_text(25), 1, 3),
            tools=_list({"enum": ["hammer", "saw", "drill", "rope", "map"]}, 1, 3)
            | {"uniqueItems": True},
        ),
        "a team led by",
        _PEOPLE,
    ),
)


def schema_tasks() -> Iterator[Task]:
    """Twenty schemas with ten questions each, which tell the keys in words."""
    for name, keys, schema, what, subjects in _SCHEMAS:
        form = f"object with the keys {keys}" if keys else "list of a text, a number and a boolean"
        yield Task(
            name,
            Grammar.from_json_schema(schema, whitespace="single", property_order="schema"),
            json_judge(schema),
            tuple(
                f"Describe {what} {subject} as a JSON {form}. Answer with the JSON alone."
                for subject in subjects
            ),
        )
