"""User agents: the `user-agents` library as SQL functions, by the names of the paper (seed 000, getAgentName) as well.

What a user agent means is that library's answer; its regular expressions run on the fastest backend of `ua-parser` that is installed
(`pip install 'data-skip[fast]'`: ua-parser-rs), which the library by itself would not use. Each distinct agent is parsed once.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

from log_skip.extractors import extractor

LONGEST = 8190  # characters; web servers refuse longer header lines (Apache's LimitRequestFieldSize)
_VERSION = 1


class Agent(NamedTuple):
    """What a user agent string says."""

    name: str = "Other"
    version: str = ""
    os: str = "Other"
    device: str = "Other"
    is_bot: bool = False
    is_mobile: bool = False


@lru_cache(maxsize=1 << 16)
def parse(user_agent: str) -> Agent:
    """What a user agent says; Agent() for one that is too long or that the library cannot take."""
    if len(user_agent) > LONGEST:
        return Agent()
    try:
        agent = _library()(user_agent)
    except ValueError:  # a version of more digits than Python turns into a number
        return Agent()
    browser = agent.browser
    return Agent(browser.family, browser.version_string, agent.os.family, agent.device.family, agent.is_bot, agent.is_mobile)


@lru_cache(maxsize=1)
def _library() -> Callable[[str], Any]:
    """The library's UserAgent, over ua-parser's best backend. Loading it takes 0.2 s, which sessions that ask no such thing are spared."""
    import ua_parser
    from user_agents.parsers import UserAgent, parse_browser, parse_device, parse_operating_system

    class Parsed(UserAgent):  # type: ignore[misc]
        def __init__(self, text: str) -> None:
            found = ua_parser.parse(text).with_defaults()
            browser, os, device = found.user_agent, found.os, found.device
            self.ua_string = text
            self.browser = parse_browser(browser.family, browser.major, browser.minor, browser.patch)
            self.os = parse_operating_system(os.family, os.major, os.minor, os.patch, os.patch_minor)
            self.device = parse_device(device.family, device.brand, device.model)

    return Parsed


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
