/** Tools of the MCP server "brightdata". Written by `ptc generate`: edits are lost. */

import { tool } from "../../runtime.js";

export interface SearchDatasetInput {
  dataset_id: "gd_l1viktl72bvl7bjuj0" | "gd_me5ppxjr2ge6icjuh0" | "gd_l1vikfnt1wgvvqz95w";
  /** Filter tree describing which records to match. Required, cannot be empty. */
  filter: {
    operator: "and" | "or";
    filters: ({
      operator: "and" | "or";
      filters: ({
        operator: "and" | "or";
        filters: SearchDatasetFiltersItem[];
      } | SearchDatasetFiltersItem)[];
    } | SearchDatasetFiltersItem)[];
  } | SearchDatasetFiltersItem;
  /** Number of records to return (max 10, default 10) */
  size?: number;
  /** Sorting: "default", "random", or a custom array like [{"timestamp":"asc"}]. Use "default" or custom sort to paginate with search_after. */
  sort?: "default" | "random" | { [k: string]: "asc" | "desc" }[];
  /** Pagination cursor from a previous response's search_after value. */
  search_after?: unknown[];
}

export interface SearchDatasetFiltersItem {
  /** Field name to filter on. Get valid field names from the list_dataset_fields tool. */
  name: string;
  /** Filter operator, one of: =, !=, <, <=, >, >=, in, not_in, includes, not_includes, array_includes, not_array_includes, is_null, is_not_null */
  operator: string;
  value: string | number | boolean | (string | number | boolean)[];
}

/**
 * Search a Bright Data dataset by a filter and get matching records back directly (fast Elasticsearch-backed search; no snapshot). Use this to FIND MANY records by criteria, as opposed to the web_data_* tools which fetch ONE record by URL.
 * First call list_dataset_fields to get valid field names.
 * A filter is a tree: a group {operator:"and"|"or", filters:[...]} or a leaf {name, value, operator}. Max nesting depth 3.
 * Leaf operators: =, !=, <, <=, >, >=, in, not_in, includes, not_includes, array_includes, not_array_includes, is_null, is_not_null.
 * Supported dataset_id values:
 * - gd_l1viktl72bvl7bjuj0: LinkedIn people profiles
 * - gd_me5ppxjr2ge6icjuh0: LinkedIn people profiles (contact-enriched)
 * - gd_l1vikfnt1wgvvqz95w: LinkedIn company information
 * @returns any: this tool declares no output schema
 */
export const searchDataset = tool<SearchDatasetInput, any>("mcp__brightdata__search_dataset");
