"""What the wheel has besides the floors: the package's own modules."""

from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Package(BuildHookInterface[Any]):
    """Puts ``runtime/public/gradwire`` on top of the wheel.

    As ``force-include`` it would also be copied by an editable install, where its copy would hide
    the package whose floors lie in the checkout.
    """

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add them, unless the checkout itself is installed."""
        if version == "standard":
            build_data["force_include"]["runtime/public/gradwire"] = "gradwire"
