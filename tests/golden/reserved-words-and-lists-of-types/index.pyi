"""Tools of the MCP server "google-drive". Written by `ptc generate`: edits are lost."""

from servers import either_way_ as _either_way

from typing import Any, Literal, NotRequired, TypedDict, overload

class ManageAccountsInput(TypedDict):
    """The arguments of the tool, by their exact names."""
    action: Literal["list", "add", "remove", "set_default"]
    account_id: NotRequired[str | None]

# ptc {"tool": "mcp__google_drive__manage_accounts", "input": "ManageAccountsInput"}
@overload
@_either_way
async def manage_accounts(
    *,
    action: Literal["list", "add", "remove", "set_default"],
    account_id: str | None = ...,
) -> Any:
    """Manage connected Google accounts. action='list' shows all connected accounts (no secrets). action='add' starts an OAuth flow for a new account identified by account_id (alias). action='remove' deletes local tokens for an account. action='set_default' picks which account is used when tool calls omit the `account` parameter.

    Args:
        action: Which account-lifecycle operation to perform.
        account_id: Account alias. Required for add/remove/set_default. Must match /^[a-z0-9][a-z0-9_-]{0,31}$/ and not be reserved (e.g. 'default', 'all', '*'). Pass JSON null with set_default to clear the current default.
    """
@overload
@_either_way
async def manage_accounts(arguments: ManageAccountsInput, /) -> Any: ...

class SearchInput(TypedDict):
    """The arguments of the tool, by their exact names."""
    query: str
    pageSize: NotRequired[float]
    pageToken: NotRequired[str]
    rawQuery: NotRequired[bool]
    orderBy: NotRequired[Literal["modifiedTime desc", "modifiedTime", "createdTime desc", "createdTime", "recency desc", "recency", "name", "name_natural"]]
    account: NotRequired[str]

# ptc {"tool": "mcp__google_drive__search", "input": "SearchInput"}
@overload
@_either_way
async def search(
    *,
    query: str,
    pageSize: float = ...,
    pageToken: str = ...,
    rawQuery: bool = ...,
    orderBy: Literal["modifiedTime desc", "modifiedTime", "createdTime desc", "createdTime", "recency desc", "recency", "name", "name_natural"] = ...,
    account: str = ...,
) -> Any:
    """Search for files in Google Drive. Results are sorted most-recently-modified first by default; use orderBy for a different order. Set rawQuery=true to pass a raw Google Drive API query supporting operators like modifiedTime, createdTime, mimeType, name contains, etc.

    Args:
        query: Search query. When rawQuery=true, this is passed directly to the Google Drive API as the q parameter.
        pageSize: Results per page (default 50, max 100)
        pageToken: Token for next page of results
        rawQuery: If true, pass query directly to Google Drive API without wrapping in fullText contains. Enables date filters, mimeType filters, etc.
        orderBy: Sort order for results. Keys without 'desc' sort ascending, so 'modifiedTime' is oldest-first. When paging, repeat the same value on every pageToken call.
            Default: "modifiedTime desc\"
        account: Alias of the Google account to target. Optional — defaults to the session/global default account, or the sole authenticated account. Run manage_accounts list to see available aliases.
    """
@overload
@_either_way
async def search(arguments: SearchInput, /) -> Any: ...
