import { namespacedName } from "../../protocol/tools/tool-name.ts";
import { canBeLearned } from "../learned/learned-of-server.ts";
import { type LearnedRecord, type LearnedTypes, learnedKey } from "../learned/learned-types.ts";
import type { ServerTools, Tool } from "../tool.ts";
import type { Catalog, CatalogTool } from "./catalog.ts";
import type { Lockfile } from "./lockfile.ts";

/** What an earlier generation left: `catalog.json` and `ptc.lock.json`. */
export interface StoredCatalog {
  catalog: Catalog;
  lock: Lockfile;
  /** What was learned of results when the modules were printed. */
  learned?: LearnedTypes | undefined;
}

/** The servers and tools of a verified catalog, as they are at work. */
export function storedServers({ catalog, lock, learned }: StoredCatalog): ServerTools[] {
  return catalog.servers.flatMap(({ name: server, module, description, tools }) => {
    const locked = lock.servers.get(server);
    if (locked === undefined) return [];
    return [
      {
        name: server,
        module,
        description,
        implementation: locked.implementation,
        tools: tools.map((tool) => {
          const definition = locked.tools.get(tool.name)?.sha256 ?? "";
          return {
            ...tool,
            namespacedName: namespacedName(module, tool.name),
            server,
            module,
            definitionDigest: definition,
            ...learnedOf(tool, learned?.get(learnedKey({ server, tool: tool.name, definition }))),
          };
        }),
      },
    ];
  });
}

function learnedOf(tool: CatalogTool, record: LearnedRecord | undefined): Pick<Tool, "learned"> {
  if (record === undefined || !canBeLearned(tool)) return {};
  return { learned: { calls: record.calls, schema: record.schema } };
}
