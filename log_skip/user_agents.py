"""User agents: the `user-agents` library as SQL functions, by the names of the paper (getAgentName) as well.

What a user agent means is that library's answer, with or without `pip install 'data-skip[fast]'`, which makes parsing much faster. The
versions of the library and its rules are part of the version of the extractors: with other rules, an agent may be another thing. So is
that of Python's Unicode, by which \\d and \\s, and letters of any case, are those of an agent that is not ASCII.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import lru_cache
from importlib.metadata import version
from itertools import islice
from typing import Any, NamedTuple
from unicodedata import unidata_version

from log_skip.extractors import extractor

LONGEST = 8190  # characters of what is remembered; web servers refuse longer header lines (Apache's LimitRequestFieldSize)
_OTHER = "Other"
_PARTS = ("user-agents", "ua-parser", "ua-parser-builtins")  # the last is the rules, renewed every few weeks
_VERSION = ", ".join(["3", *(f"{part} {version(part)}" for part in _PARTS), f"Unicode {unidata_version}"])


class Agent(NamedTuple):
    """What a user agent string says."""

    name: str = _OTHER
    version: str = ""
    os: str = _OTHER
    device: str = _OTHER
    is_bot: bool = False
    is_mobile: bool = False


def parse(user_agent: str) -> Agent:
    """What a user agent says; Agent() for one that the library cannot take."""
    return _remembered(user_agent) if len(user_agent) <= LONGEST else _parsed(user_agent)


def _parsed(user_agent: str) -> Agent:
    try:
        agent = _library()(user_agent)
    except ValueError:  # a version of more digits than Python turns into a number
        return Agent()
    browser = agent.browser
    return Agent(browser.family, browser.version_string, agent.os.family, agent.device.family, agent.is_bot, agent.is_mobile)


_remembered = lru_cache(maxsize=1 << 16)(_parsed)


@lru_cache(maxsize=1)
def _library() -> Callable[[str], Any]:
    """The library's UserAgent over our `_Rules`. Loading it takes 0.2 s, which sessions that ask no such thing are spared."""
    from user_agents.parsers import UserAgent, parse_browser, parse_device, parse_operating_system

    rules = _Rules()

    class Parsed(UserAgent):  # type: ignore[misc]
        def __init__(self, text: str) -> None:
            browser, os, device = rules.find(text)
            self.ua_string = text
            self.browser = parse_browser(browser.family, browser.major, browser.minor, browser.patch)
            self.os = parse_operating_system(os.family, os.major, os.minor, os.patch, os.patch_minor)
            self.device = parse_device(device.family, device.brand, device.model)

    return Parsed


class _Rules:
    """ua-parser's rules for browsers, systems and devices: in each list, the first whose regular expression is found counts.

    ua-parser-rs searches for all of a list at once, twenty times as fast, but reads `.{0,100}` as `.*`: three agents of the real log
    are another thing to it. So it only says at which rule to begin: no rule before that can be found by Python's own `re` either. Of
    what is not printable ASCII, classes as \\d and \\s mean another thing to it, and Python tries all rules.
    """

    def __init__(self) -> None:
        import ua_parser

        browsers, systems, devices = ua_parser.load_lazy_builtins()
        self.lists: tuple[list[Any], ...] = (list(browsers), list(systems), list(devices))
        self.unknown = (ua_parser.UserAgent(_OTHER), ua_parser.OS(_OTHER), ua_parser.Device(_OTHER))
        self.searches: tuple[Any, ...] = (None, None, None)
        with suppress(ImportError):
            import ua_parser_rs as fast

            self.searches = (
                fast.UserAgentExtractor([(rule.regex, str(i), None, None, None, None) for i, rule in enumerate(self.lists[0])]),
                fast.OSExtractor([(rule.regex, str(i), None, None, None, None) for i, rule in enumerate(self.lists[1])]),
                fast.DeviceExtractor([(rule.regex, rule.regex_flag, str(i), None, None) for i, rule in enumerate(self.lists[2])]),
            )

    def find(self, text: str) -> Iterator[Any]:
        """ua-parser's UserAgent, OS and Device; of family `Other` where no rule is found."""
        plain = text.isascii() and text.isprintable()
        for rules, search, unknown in zip(self.lists, self.searches, self.unknown, strict=True):
            start = 0
            if search is not None and plain:
                hit = search.extract(text)
                start = len(rules) if hit is None else int(hit.family)
            found = (rule(text) for rule in islice(rules, start, None))
            yield next((result for result in found if result is not None), unknown)


@extractor("get_agent_name", _VERSION, aliases=["getAgentName"])
def get_agent_name(user_agent: str) -> str:
    """The browser's family, as `Firefox`, `Googlebot`; `Other` where it is not known."""
    return parse(user_agent).name


@extractor("get_agent_version", _VERSION, aliases=["getAgentVersion"])
def get_agent_version(user_agent: str) -> str:
    """The browser's version, as `32.0.1700`; empty where it is not known."""
    return parse(user_agent).version


@extractor("get_os_name", _VERSION, aliases=["getOsName"])
def get_os_name(user_agent: str) -> str:
    """The operating system's family, as `Windows`, `iOS`; `Other` where it is not known."""
    return parse(user_agent).os


@extractor("get_device_family", _VERSION, aliases=["getDeviceFamily"])
def get_device_family(user_agent: str) -> str:
    """The device's family, as `iPhone`, `Spider`; `Other` where it is not known."""
    return parse(user_agent).device


@extractor("is_bot", _VERSION, returns="boolean", aliases=["isBot"])
def is_bot(user_agent: str) -> bool:
    """Whether it is a robot's."""
    return parse(user_agent).is_bot


@extractor("is_mobile", _VERSION, returns="boolean", aliases=["isMobile"])
def is_mobile(user_agent: str) -> bool:
    """Whether it is a phone's."""
    return parse(user_agent).is_mobile
