"""Tools of the MCP server "heroku". Written by `ptc generate`: edits are lost."""

from servers import either_way_ as _either_way

from collections.abc import Mapping
from typing import Any, NotRequired, TypedDict, overload

class DeployToHerokuInput(TypedDict):
    """The arguments of the tool, by their exact names."""
    name: str
    rootUri: str
    tarballUri: NotRequired[str]
    teamId: NotRequired[str]
    spaceId: NotRequired[str]
    internalRouting: NotRequired[bool]
    env: NotRequired[Mapping[str, Any]]
    appJson: str

# ptc {"tool": "mcp__heroku__deploy_to_heroku", "input": "DeployToHerokuInput"}
@overload
@_either_way
async def deploy_to_heroku(
    *,
    name: str,
    rootUri: str,
    appJson: str,
    tarballUri: str = ...,
    teamId: str = ...,
    spaceId: str = ...,
    internalRouting: bool = ...,
    env: Mapping[str, Any] = ...,
) -> Any:
    """Use for all deployments. Deploys new/existing apps, with or without teams/spaces, and env vars to Heroku. Ask for app name if missing. Requires valid app.json via appJson param.

    Args:
        name: App name for deployment. Creates new app if not exists.
        rootUri: Workspace root directory path.
        tarballUri: URL of deployment tarball. Creates from rootUri if not provided.
        teamId: Team ID for team deployments.
        spaceId: Private space ID for space deployments.
        internalRouting: Enable internal routing in private spaces.
        env: Environment variables overriding app.json values
        appJson: App.json config for deployment. Must follow schema: {"default":{"$schema":"http://json-schema.org/draft-07/schema#","title":"Heroku app.json Schema","description":"app.json is a manifest format for describing web apps. It declares environment variables, add-ons, and other information required to run an app on Heroku. Used for dynamic configurations or converted projects","type":"object","properties":{"name":{"type":"string","pattern":"^[a-zA-Z-_\\\\.]+","maxLength":300},"description":{"type":"string"},"keywords":{"type":"array","items":{"type":"string"}},"website":{"$ref":"#/definitions/uriString"},"repository":{"$ref":"#/definitions/uriString"},"logo":{"$ref":"#/definitions/uriString"},"success_url":{"type":"string"},"scripts":{"$ref":"#/definitions/scripts"},"env":{"$ref":"#/definitions/env"},"formation":{"$ref":"#/definitions/formation"},"addons":{"$ref":"#/definitions/addons"},"buildpacks":{"$ref":"#/definitions/buildpacks"},"environments":{"$ref":"#/definitions/environments"},"stack":{"$ref":"#/definitions/stack"},"image":{"type":"string"}},"additionalProperties":false,"definitions":{"uriString":{"type":"string","format":"uri"},"scripts":{"type":"object","properties":{"postdeploy":{"type":"string"},"pr-predestroy":{"type":"string"}},"additionalProperties":false},"env":{"type":"object","patternProperties":{"^[A-Z][A-Z0-9_]*$":{"type":"object","properties":{"description":{"type":"string"},"value":{"type":"string"},"required":{"type":"boolean"},"generator":{"type":"string","enum":["secret"]}},"additionalProperties":false}}},"dynoSize":{"type":"string","enum":["free","eco","hobby","basic","standard-1x","standard-2x","performance-m","performance-l","private-s","private-m","private-l","shield-s","shield-m","shield-l"]},"formation":{"type":"object","patternProperties":{"^[a-zA-Z0-9_-]+$":{"type":"object","properties":{"quantity":{"type":"integer","minimum":0},"size":{"$ref":"#/definitions/dynoSize"}},"required":["quantity"],"additionalProperties":false}}},"addons":{"type":"array","items":{"oneOf":[{"type":"string"},{"type":"object","properties":{"plan":{"type":"string"},"as":{"type":"string"},"options":{"type":"object"}},"required":["plan"],"additionalProperties":false}]}},"buildpacks":{"type":"array","items":{"type":"object","properties":{"url":{"type":"string"}},"required":["url"],"additionalProperties":false}},"environmentConfig":{"type":"object","properties":{"env":{"type":"object"},"formation":{"type":"object"},"addons":{"type":"array"},"buildpacks":{"type":"array"}}},"environments":{"type":"object","properties":{"test":{"allOf":[{"$ref":"#/definitions/environmentConfig"},{"type":"object","properties":{"scripts":{"type":"object","properties":{"test":{"type":"string"}},"additionalProperties":false}}}]},"review":{"$ref":"#/definitions/environmentConfig"},"production":{"$ref":"#/definitions/environmentConfig"}},"additionalProperties":false},"stack":{"type":"string","enum":["heroku-18","heroku-20","heroku-22","heroku-24"]}}}}
    """
@overload
@_either_way
async def deploy_to_heroku(arguments: DeployToHerokuInput, /) -> Any: ...

# The arguments of the tool, by their exact names.
PsRestartInput = TypedDict(
    "PsRestartInput",
    {
        "app": str,
        "dyno-name": NotRequired[str],
        "process-type": NotRequired[str],
    },
)

# ptc {"tool": "mcp__heroku__ps_restart", "input": "PsRestartInput", "parameters": {"dyno_name": "dyno-name", "process_type": "process-type"}}
@overload
@_either_way
async def ps_restart(
    *,
    app: str,
    dyno_name: str = ...,
    process_type: str = ...,
) -> Any:
    """Restart Heroku app processes. Restart specific dynos, process types, or all dynos. Reset dyno states selectively.

    Args:
        app: App name to restart processes for
        dyno_name: Specific dyno to restart (e.g., web.1). Omit both options to restart all
        process_type: Dyno type to restart (e.g., web). Omit both options to restart all
    """
@overload
@_either_way
async def ps_restart(arguments: PsRestartInput, /) -> Any: ...
