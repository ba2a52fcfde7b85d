import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { loadConfiguration } from "../../../configuration/load.ts";
import { parseNamespacedName } from "../../../protocol/tool-names.ts";

/** The servers of a configuration, called as a client calls them that has no ptc between. */
export interface DirectCalls {
  /** What a model reads of the result: its text. Images are left out. */
  read(tool: string, args: Record<string, unknown>): Promise<string>;
  close(): Promise<void>;
}

/** @param file a ptc.yaml whose servers are started over stdio, each with its first call. */
export async function callDirectly(file: string, env: Record<string, string>): Promise<DirectCalls> {
  const { servers } = await loadConfiguration({ flag: file, env, cwd: process.cwd() });
  const clients = new Map<string, Promise<Client>>();
  const connect = async (module: string) => {
    const server = servers.find((each) => each.module === module);
    if (server?.transport !== "stdio") throw new Error(`there is no server ${module} over stdio`);
    const { command, args, cwd } = server;
    const client = new Client({ name: "direct", version: "1.0.0" });
    await client.connect(
      new StdioClientTransport({
        command,
        args: [...args],
        cwd,
        env: { PATH: process.env.PATH ?? "", ...server.env },
        stderr: "ignore",
      }),
    );
    return client;
  };
  return {
    async read(tool, args) {
      const { module = "", tool: name = "" } = parseNamespacedName(tool) ?? {};
      const connected = clients.get(module) ?? connect(module);
      clients.set(module, connected);
      const client = await connected;
      switch (name) {
        case "resources/list":
          return JSON.stringify((await client.listResources()).resources);
        case "resources/read": {
          const { contents } = await client.readResource(args as { uri: string });
          return contents.map((each) => ("text" in each ? each.text : "")).join("\n");
        }
        default:
          return textOf((await client.callTool({ name, arguments: args })) as CallToolResult);
      }
    },
    async close() {
      for (const client of clients.values()) await (await client).close();
    },
  };
}

/** Clients show the content or the structured content: here it is what is shorter. */
function textOf({ content, structuredContent }: CallToolResult): string {
  const text = content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");
  const data = structuredContent === undefined ? text : JSON.stringify(structuredContent);
  return data.length < text.length ? data : text;
}
