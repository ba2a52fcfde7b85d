/** Tools of the MCP server "mongodb". Written by `ptc generate`: edits are lost. */

import { tool } from "../../runtime.js";

export interface AtlasListClustersInput {
  /** Atlas project ID to filter clusters */
  projectId?: string;
}

export interface AtlasListClustersOutput {
  projectId?: string;
  projectName?: string;
  clusters: ({
    clusterName?: string;
    projectId?: string;
    projectName?: string;
  } | {
    name?: string;
    clusterId?: string;
    instanceType: "FREE" | "DEDICATED" | "FLEX";
    instanceSize?: string;
    provider?: string;
    region?: string;
    paused: boolean;
    state?: "IDLE" | "CREATING" | "UPDATING" | "DELETING" | "REPAIRING";
    mongoDBVersion?: string;
    connectionStrings?: { [k: string]: any };
    processIds?: string[];
  })[];
  totalCount: number;
}

/** List MongoDB Atlas clusters */
export const atlasListClusters = tool<AtlasListClustersInput, AtlasListClustersOutput>("mcp__mongodb__atlas-list-clusters");

export interface FindInput {
  /** The connection to run the operation against. Use the id returned by one of the connect tools, or "preconfigured" to use the connection string the server was configured with. */
  connectionId: string;
  /** Database name */
  database: string;
  /** Collection name */
  collection: string;
  /** The query filter, matching the syntax of the query argument of db.collection.find() */
  filter?: { [k: string]: unknown };
  /** The projection, matching the syntax of the projection argument of db.collection.find() */
  projection?: { [k: string]: unknown };
  /**
   * The maximum number of documents to return
   * @default 10
   */
  limit?: number;
  /**
   * A document, describing the sort order, matching the syntax of the sort argument of cursor.sort(). The keys of the object are the fields to sort on, while the values are the sort directions (1 for ascending, -1 for descending).
   * Values: The sort key and its direction
   */
  sort?: {
    [k: string]: 1 | -1 | "asc" | "desc" | "ascending" | "descending" | {
      $meta: string;
    };
  };
  /**
   * The maximum number of bytes to return in the response. This value is capped by the server's configured maximum and cannot be exceeded.
   * @default 1048576
   */
  responseBytesLimit?: number;
}

export interface FindOutput {
  /** The documents returned by the find query */
  documents: any[];
  /** The total number of documents returned by the find query */
  queryResultsCount?: number;
  /** The limits applied to the find query */
  appliedLimits: ("config.maxDocumentsPerQuery" | "config.maxBytesPerQuery" | "tool.responseBytesLimit")[];
}

/** Run a find query against a MongoDB collection */
export const find = tool<FindInput, FindOutput>("mcp__mongodb__find");
