import { namespacedName } from "../../protocol/tools/tool-name.ts";
import type { ServerTools } from "../tool.ts";
import type { Catalog } from "./catalog.ts";
import type { Lockfile } from "./lockfile.ts";

/** What an earlier generation left: `catalog.json` and `ptc.lock.json`. */
export interface StoredCatalog {
  catalog: Catalog;
  lock: Lockfile;
}

/** The servers and tools of a verified catalog, as they are at work. */
export function storedServers({ catalog, lock }: StoredCatalog): ServerTools[] {
  return catalog.servers.flatMap(({ name: server, module, description, tools }) => {
    const locked = lock.servers.get(server);
    if (locked === undefined) return [];
    return [
      {
        name: server,
        module,
        description,
        implementation: locked.implementation,
        tools: tools.map((tool) => ({
          ...tool,
          namespacedName: namespacedName(module, tool.name),
          server,
          module,
          definitionDigest: locked.tools.get(tool.name)?.sha256 ?? "",
        })),
      },
    ];
  });
}
