/**
 * A knowledge graph that remembers
 * Tools of the MCP server "memory". Written by `ptc generate`: edits are lost.
 */

import { tool } from "../../runtime.js";

export interface AddObservationsInput {
  observations: {
    /** The name of the entity to add the observations to */
    entityName: string;
    /** An array of observation contents to add */
    contents: string[];
  }[];
}

export interface AddObservationsOutput {
  results: {
    entityName: string;
    addedObservations: string[];
  }[];
}

/** Add new observations to existing entities in the knowledge graph */
export const addObservations = tool<AddObservationsInput, AddObservationsOutput>("mcp__memory__add_observations");

export interface CreateEntitiesInput {
  entities: {
    /** The name of the entity */
    name: string;
    /** The type of the entity */
    entityType: string;
    /** An array of observation contents associated with the entity */
    observations: string[];
  }[];
}

export interface CreateEntitiesOutput {
  entities: {
    /** The name of the entity */
    name: string;
    /** The type of the entity */
    entityType: string;
    /** An array of observation contents associated with the entity */
    observations: string[];
  }[];
}

/** Create multiple new entities in the knowledge graph */
export const createEntities = tool<CreateEntitiesInput, CreateEntitiesOutput>("mcp__memory__create_entities");

export interface CreateRelationsInput {
  relations: {
    /** The name of the entity where the relation starts */
    from: string;
    /** The name of the entity where the relation ends */
    to: string;
    /** The type of the relation */
    relationType: string;
  }[];
}

export interface CreateRelationsOutput {
  relations: {
    /** The name of the entity where the relation starts */
    from: string;
    /** The name of the entity where the relation ends */
    to: string;
    /** The type of the relation */
    relationType: string;
  }[];
}

/** Create multiple new relations between entities in the knowledge graph. Relations should be in active voice */
export const createRelations = tool<CreateRelationsInput, CreateRelationsOutput>("mcp__memory__create_relations");

export interface DeleteEntitiesInput {
  /** An array of entity names to delete */
  entityNames: string[];
}

export interface DeleteEntitiesOutput {
  success: boolean;
  message: string;
}

/** Delete multiple entities and their associated relations from the knowledge graph */
export const deleteEntities = tool<DeleteEntitiesInput, DeleteEntitiesOutput>("mcp__memory__delete_entities");

export interface DeleteObservationsInput {
  deletions: {
    /** The name of the entity containing the observations */
    entityName: string;
    /** An array of observations to delete */
    observations: string[];
  }[];
}

export interface DeleteObservationsOutput {
  success: boolean;
  message: string;
}

/** Delete specific observations from entities in the knowledge graph */
export const deleteObservations = tool<DeleteObservationsInput, DeleteObservationsOutput>("mcp__memory__delete_observations");

export interface DeleteRelationsInput {
  /** An array of relations to delete */
  relations: {
    /** The name of the entity where the relation starts */
    from: string;
    /** The name of the entity where the relation ends */
    to: string;
    /** The type of the relation */
    relationType: string;
  }[];
}

export interface DeleteRelationsOutput {
  success: boolean;
  message: string;
}

/** Delete multiple relations from the knowledge graph */
export const deleteRelations = tool<DeleteRelationsInput, DeleteRelationsOutput>("mcp__memory__delete_relations");

export interface OpenNodesInput {
  /** An array of entity names to retrieve */
  names: string[];
}

export interface OpenNodesOutput {
  entities: {
    /** The name of the entity */
    name: string;
    /** The type of the entity */
    entityType: string;
    /** An array of observation contents associated with the entity */
    observations: string[];
  }[];
  relations: {
    /** The name of the entity where the relation starts */
    from: string;
    /** The name of the entity where the relation ends */
    to: string;
    /** The type of the relation */
    relationType: string;
  }[];
}

/** Open specific nodes in the knowledge graph by their names */
export const openNodes = tool<OpenNodesInput, OpenNodesOutput>("mcp__memory__open_nodes");

export interface ReadGraphInput { [k: string]: never }

export interface ReadGraphOutput {
  entities: {
    /** The name of the entity */
    name: string;
    /** The type of the entity */
    entityType: string;
    /** An array of observation contents associated with the entity */
    observations: string[];
  }[];
  relations: {
    /** The name of the entity where the relation starts */
    from: string;
    /** The name of the entity where the relation ends */
    to: string;
    /** The type of the relation */
    relationType: string;
  }[];
}

/** Read the entire knowledge graph */
export const readGraph = tool<ReadGraphInput, ReadGraphOutput>("mcp__memory__read_graph");

export interface ResourcesListInput { [k: string]: never }

export interface ResourcesListOutput {
  resources: {
    uri: string;
    name: string;
    title?: string;
    description?: string;
    mimeType?: string;
    size?: number;
  }[];
  resourceTemplates: {
    uriTemplate: string;
    name: string;
    title?: string;
    description?: string;
    mimeType?: string;
  }[];
}

/** Lists the resources of this server, and the templates (RFC 6570) of the URIs of those that it does not list. In a program also `resources.list()`. */
export const resourcesList = tool<ResourcesListInput, ResourcesListOutput>("mcp__memory__resources/list");

export interface ResourcesReadInput {
  uri: string;
}

export interface ResourcesReadOutput {
  contents: {
    uri: string;
    mimeType?: string;
    text?: string;
    blob?: string;
  }[];
}

/** Reads a resource of this server: each of its contents is `text`, or a `blob` in base64, which `bytesOf` decodes. In a program also `resources.read(uri)`. */
export const resourcesRead = tool<ResourcesReadInput, ResourcesReadOutput>("mcp__memory__resources/read");

export interface SearchNodesInput {
  /** The search query to match against entity names, types, and observation content */
  query: string;
}

export interface SearchNodesOutput {
  entities: {
    /** The name of the entity */
    name: string;
    /** The type of the entity */
    entityType: string;
    /** An array of observation contents associated with the entity */
    observations: string[];
  }[];
  relations: {
    /** The name of the entity where the relation starts */
    from: string;
    /** The name of the entity where the relation ends */
    to: string;
    /** The type of the relation */
    relationType: string;
  }[];
}

/** Search for nodes in the knowledge graph based on a query */
export const searchNodes = tool<SearchNodesInput, SearchNodesOutput>("mcp__memory__search_nodes");

export const resources = {
  /** All resources, and templates of URIs. */
  list: () => tool<ResourcesListInput, ResourcesListOutput>("mcp__memory__resources/list")({}),
  /** The contents of one resource. */
  read: (uri: string) => tool<ResourcesReadInput, ResourcesReadOutput>("mcp__memory__resources/read")({ uri }),
};
