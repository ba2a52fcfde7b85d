import { describe, expect, it } from "vitest";
import { importServers } from "../../cli/configuration/import-servers.ts";
import { parseConfiguration } from "../../cli/configuration/parse.ts";
import { renderConfiguration } from "../../cli/configuration/render-configuration.ts";

const imported = (file: unknown) => importServers(file, "/home/me/project");

describe("importing servers", () => {
  it("takes every kind of server over, with its variables as they are written", () => {
    const file = {
      mcpServers: {
        github: { command: "npx", args: ["-y", "gh", 1], env: { TOKEN: "${GH_TOKEN:-x}" } },
        remote: { type: "http", url: "https://x.example/mcp", headers: { Authorization: "Bearer ${T}" } },
        older: { type: "sse", url: "https://x.example/sse" },
        bare: { url: "https://x.example/mcp" },
      },
    };
    const { servers, skipped, withValues } = imported(file) ?? {};
    expect(servers).toEqual([
      {
        name: "github",
        transport: "stdio",
        command: "npx",
        args: ["-y", "gh", "1"],
        env: { TOKEN: "${GH_TOKEN:-x}" },
      },
      {
        name: "remote",
        transport: "http",
        url: "https://x.example/mcp",
        headers: { Authorization: "Bearer ${T}" },
      },
      { name: "older", transport: "sse", url: "https://x.example/sse" },
      { name: "bare", transport: "http", url: "https://x.example/mcp" },
    ]);
    expect({ skipped, withValues }).toEqual({ skipped: [], withValues: [] });
  });

  it("prefers the project's servers of a ~/.claude.json to the user's, and leaves other projects alone", () => {
    const file = {
      mcpServers: { a: { command: "user" }, b: { command: "user" } },
      projects: {
        "/home/me/project": { mcpServers: { a: { command: "project" } } },
        "/home/me/other": { mcpServers: { c: { command: "other" } } },
      },
    };
    expect(imported(file)?.servers.map((server) => [server.name, server.command])).toEqual([
      ["a", "project"],
      ["b", "user"],
    ]);
  });

  it("leaves out what cannot be one of ours, with the reason", () => {
    const file = {
      mcpServers: {
        broken: { args: "x" },
        empty: {},
        socket: { type: "ws", url: "ws://x.example" },
        ptc: { command: "node", args: ["/x/dist/cli/ptc.js", "serve"] },
        "my server!": { command: "x" },
        my_server_: { command: "x" },
      },
    };
    const { servers, skipped } = imported(file) ?? {};
    expect(servers?.map(({ name }) => name)).toEqual(["my-server-"]);
    expect(skipped).toEqual([
      { name: "broken", why: "its entry is not one that ptc can read" },
      { name: "empty", why: "it has no command" },
      { name: "socket", why: "ptc does not know servers of type 'ws'" },
      { name: "ptc", why: "it is ptc itself" },
      { name: "my_server_", why: "another server has the same name in code" },
    ]);
  });

  it("points out values that may be secrets", () => {
    expect(imported({ mcpServers: { a: { command: "x", env: { KEY: "abc" } } } })?.withValues).toEqual(["a"]);
  });

  it.each([[[]], [null], [{}], [{ servers: {} }], [{ mcpServers: [] }]])("finds no servers in %j", (file) => {
    expect(imported(file)).toBeUndefined();
  });
});

describe("a new ptc.yaml", () => {
  it("is one that ptc reads, with the servers as they were", () => {
    const servers = imported({
      mcpServers: { "a.b": { command: "x: # '\"", args: ["\n", "- no", "${HOME}"], env: { A: "yes" } } },
    })?.servers;
    const environment = { HOME: "/home/me" };
    const parse = (text: string) =>
      parseConfiguration(text, { file: "ptc.yaml", directory: "/home/me/project", environment });
    expect(parse(renderConfiguration(servers ?? [])).servers).toMatchObject([
      { name: "a.b", command: "x: # '\"", args: ["\n", "- no", "/home/me"], env: { A: "yes" } },
    ]);
    expect(parse(renderConfiguration([])).servers).toEqual([]);
  });

  it("says of every key what its default is", () => {
    const text = renderConfiguration([]).replaceAll(/^# ?(?=[a-z]+:$| {2})/gm, "");
    const environment = { GITHUB_TOKEN: "x", TOKEN: "y" };
    const written = parseConfiguration(text, { file: "ptc.yaml", directory: "/p", environment });
    const defaults = parseConfiguration("", { file: "ptc.yaml", directory: "/p", environment });
    const { execution, sandbox, archive } = defaults;
    expect(written).toMatchObject({ execution, sandbox, archive });
    expect(written.servers).toHaveLength(2);
  });
});
