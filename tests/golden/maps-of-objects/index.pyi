"""Tools of the MCP server "hubspot". Written by `ptc generate`: edits are lost."""

from servers import either_way_ as _either_way

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NotRequired, TypedDict, overload

class HubspotBatchCreateObjectsInputs(TypedDict):
    properties: Mapping[str, str]
    """Object properties as key-value pairs"""
    associations: NotRequired[Sequence[HubspotBatchCreateObjectsInputsAssociations]]
    """Optional list of associations to create with this object"""
    objectWriteTraceId: NotRequired[str]
    """Optional trace ID for debugging purposes"""

class HubspotBatchCreateObjectsInputsAssociations(TypedDict):
    types: Sequence[HubspotBatchCreateObjectsInputsAssociationsTypes]
    to: HubspotBatchCreateObjectsInputsAssociationsTo

class HubspotBatchCreateObjectsInputsAssociationsTypes(TypedDict):
    associationCategory: Literal["HUBSPOT_DEFINED", "USER_DEFINED", "INTEGRATOR_DEFINED"]
    associationTypeId: int

class HubspotBatchCreateObjectsInputsAssociationsTo(TypedDict):
    id: str
    """ID of the object to associate with"""

class HubspotBatchCreateObjectsInput(TypedDict):
    """The arguments of the tool, by their exact names."""
    objectType: str
    inputs: Sequence[HubspotBatchCreateObjectsInputs]

# ptc {"tool": "mcp__hubspot__hubspot-batch-create-objects", "input": "HubspotBatchCreateObjectsInput"}
@overload
@_either_way
async def hubspot_batch_create_objects(
    *,
    objectType: str,
    inputs: Sequence[HubspotBatchCreateObjectsInputs],
) -> Any:
    """🛡️ Guardrails:
          1. Data Modification Warning: This tool modifies HubSpot data. Only use when the user has explicitly requested to update their CRM.

        🎯 Purpose:
          1. Creates multiple HubSpot objects of the same objectType in a single API call, optimizing for bulk operations.

        📋 Prerequisites:
          1. Use the hubspot-get-user-details tool to get the OwnerId and UserId if you don't have that already.
          2. Use the hubspot-list-objects tool to sample existing objects for the object type.
          3. Use the hubspot-get-association-definitions tool to identify valid association types before creating associations.

    Args:
        objectType: The type of HubSpot object to create. Valid values include: appointments, companies, contacts, courses, deals, leads, line_items, listings, marketing_events, meetings, orders, postal_mail, products, quotes, services, subscriptions, tickets, users. For custom objects, use the hubspot-get-schemas tool to get the objectType.
        inputs: Array of objects to create (maximum 100 per batch)
    """
@overload
@_either_way
async def hubspot_batch_create_objects(arguments: HubspotBatchCreateObjectsInput, /) -> Any: ...
