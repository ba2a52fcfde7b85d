"""Tools of the MCP server "notion". Written by `ptc generate`: edits are lost."""

from servers import either_way_ as _either_way

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NotRequired, TypedDict, overload

class ApiCreateADataSourcePageIdParentRequest(TypedDict, extra_items=Any):
    page_id: str
    """Format: uuid"""

class ApiCreateADataSourceRichTextRequest(TypedDict):
    text: ApiCreateADataSourceRichTextRequestText
    type: NotRequired[Literal["text"]]

class ApiCreateADataSourceRichTextRequestText(TypedDict):
    content: str
    link: NotRequired[Mapping[str, Any] | None]

class ApiCreateADataSourceInput(TypedDict):
    """The arguments of the tool, by their exact names."""
    parent: ApiCreateADataSourcePageIdParentRequest | str
    properties: Mapping[str, Any] | str
    title: NotRequired[list[ApiCreateADataSourceRichTextRequest | str | Mapping[str, Any]]]

# ptc {"tool": "mcp__notion__API-create-a-data-source", "input": "ApiCreateADataSourceInput"}
@overload
@_either_way
async def API_create_a_data_source(
    *,
    parent: ApiCreateADataSourcePageIdParentRequest | str,
    properties: Mapping[str, Any] | str,
    title: list[ApiCreateADataSourceRichTextRequest | str | Mapping[str, Any]] = ...,
) -> Any:
    """Notion | Create a data source
    Error Responses:
    400: Bad request

    Args:
        properties: Property schema of data source
    """
@overload
@_either_way
async def API_create_a_data_source(arguments: ApiCreateADataSourceInput, /) -> Any: ...

type ApiPatchBlockChildrenBlockObjectRequest = ApiPatchBlockChildrenParagraphBlockRequest | ApiPatchBlockChildrenBulletedListItemBlockRequest

class ApiPatchBlockChildrenParagraphBlockRequest(TypedDict):
    paragraph: NotRequired[ApiPatchBlockChildrenParagraphBlockRequestParagraph]
    type: NotRequired[Literal["paragraph"]]

class ApiPatchBlockChildrenParagraphBlockRequestParagraph(TypedDict):
    rich_text: Sequence[ApiPatchBlockChildrenRichTextRequest]

class ApiPatchBlockChildrenBulletedListItemBlockRequest(TypedDict):
    bulleted_list_item: NotRequired[ApiPatchBlockChildrenBulletedListItemBlockRequestBulletedListItem]
    type: NotRequired[Literal["bulleted_list_item"]]

class ApiPatchBlockChildrenBulletedListItemBlockRequestBulletedListItem(TypedDict):
    rich_text: Sequence[ApiPatchBlockChildrenRichTextRequest]

ApiPatchBlockChildrenRichTextRequest = ApiCreateADataSourceRichTextRequest

ApiPatchBlockChildrenRichTextRequestText = ApiCreateADataSourceRichTextRequestText

class ApiPatchBlockChildrenInput(TypedDict):
    """The arguments of the tool, by their exact names."""
    block_id: str
    children: list[ApiPatchBlockChildrenBlockObjectRequest | str | Mapping[str, Any]]
    after: NotRequired[str]

# ptc {"tool": "mcp__notion__API-patch-block-children", "input": "ApiPatchBlockChildrenInput"}
@overload
@_either_way
async def API_patch_block_children(
    *,
    block_id: str,
    children: list[ApiPatchBlockChildrenBlockObjectRequest | str | Mapping[str, Any]],
    after: str = ...,
) -> Any:
    """Notion | Append block children
    Error Responses:
    400: Bad request

    Args:
        block_id: Identifier for a [block](ref:block). Also accepts a [page](ref:page) ID.
        children: Child content to append to a container block as an array of [block objects](ref:block)
        after: The ID of the existing block that the new block should be appended after.
    """
@overload
@_either_way
async def API_patch_block_children(arguments: ApiPatchBlockChildrenInput, /) -> Any: ...

ApiUpdateADataSourceRichTextRequest = ApiCreateADataSourceRichTextRequest

ApiUpdateADataSourceRichTextRequestText = ApiCreateADataSourceRichTextRequestText

class ApiUpdateADataSourceInput(TypedDict):
    """The arguments of the tool, by their exact names."""
    data_source_id: str
    title: NotRequired[list[ApiUpdateADataSourceRichTextRequest | str | Mapping[str, Any]]]
    description: NotRequired[list[ApiUpdateADataSourceRichTextRequest | str | Mapping[str, Any]]]
    properties: NotRequired[Mapping[str, Any] | str]

# ptc {"tool": "mcp__notion__API-update-a-data-source", "input": "ApiUpdateADataSourceInput"}
@overload
@_either_way
async def API_update_a_data_source(
    *,
    data_source_id: str,
    title: list[ApiUpdateADataSourceRichTextRequest | str | Mapping[str, Any]] = ...,
    description: list[ApiUpdateADataSourceRichTextRequest | str | Mapping[str, Any]] = ...,
    properties: Mapping[str, Any] | str = ...,
) -> Any:
    """Notion | Update a data source
    Error Responses:
    400: Bad request

    Args:
        data_source_id: Identifier for a Notion data source
        properties: Property schema updates
    """
@overload
@_either_way
async def API_update_a_data_source(arguments: ApiUpdateADataSourceInput, /) -> Any: ...
