import { describe, expect, it } from "vitest";
import { importServers } from "../../../configuration/clients/import-servers.ts";
import { parseConfiguration } from "../../../configuration/parse.ts";
import { Settings } from "../../../configuration/settings/settings.ts";
import { renderConfiguration } from "../../../configuration/write-file.ts";

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

  it("takes over how Claude Code logs in, with the redirect that its client is registered with", () => {
    const remote = (oauth: object) => ({ type: "http", url: "https://x.example/mcp", oauth });
    const authServerMetadataUrl = "https://auth.example/.well-known/openid-configuration";
    const file = {
      mcpServers: {
        all: remote({ clientId: "${ID}", callbackPort: 3118, authServerMetadataUrl, scopes: "read write" }),
        path: remote({ authServerMetadataUrl: "https://a.example/.well-known/oauth-authorization-server/t" }),
        tenant: remote({ authServerMetadataUrl: "https://a.example/t/.well-known/openid-configuration" }),
        none: remote({}),
        keyed: { ...remote({ clientId: "a" }), headers: { authorization: "Bearer ${T}" } },
        custom: remote({ authServerMetadataUrl: "https://a.example/metadata.json" }),
        wrong: remote({ callbackPort: "x" }),
      },
    };
    const { servers = [], skipped } = imported(file) ?? {};
    expect(servers.map(({ auth }) => auth)).toEqual([
      {
        type: "oauth",
        client_id: "${ID}",
        scopes: "read write",
        issuer: "https://auth.example",
        callback_host: "localhost",
        callback_port: 3118,
      },
      { type: "oauth", issuer: "https://a.example/t" },
      { type: "oauth", issuer: "https://a.example/t" },
      undefined,
      undefined,
    ]);
    expect(skipped).toEqual([
      {
        name: "custom",
        why: expect.stringMatching(/^its oauth\.authServerMetadataUrl does not end in a well-known/),
      },
      { name: "wrong", why: "its entry is not one that ptc can read" },
    ]);
    const text = renderConfiguration(servers);
    const parsed = parseConfiguration(text, { file: "ptc.yaml", directory: "/", environment: { ID: "me" } });
    expect(parsed.servers[0]).toMatchObject({
      auth: { clientId: "me", callbackHost: "localhost", callbackPort: 3118 },
    });
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

  it("writes references to variables as ptc has them, whichever client they are from", () => {
    const file = {
      mcpServers: {
        cursor: {
          command: "${workspaceFolder}/bin/server",
          args: ["--home", "${userHome}"],
          env: { TOKEN: "${env:TOKEN}", URL: "https://${env:HOST}/${PATH_:-x}" },
        },
        asking: { command: "x", env: { TOKEN: "${input:api-key}" } },
        odd: { url: "https://x.example/${config:y}" },
        open: { command: "x", args: ["${TOKEN"] },
      },
    };
    const { servers, skipped, withValues } = imported(file) ?? {};
    expect(servers).toEqual([
      {
        name: "cursor",
        transport: "stdio",
        command: "/home/me/project/bin/server",
        args: ["--home", "${HOME}"],
        env: { TOKEN: "${TOKEN}", URL: "https://${HOST}/${PATH_:-x}" },
      },
    ]);
    const why = (reference: string) =>
      `it holds ${reference}, which ptc cannot resolve; write \${NAME} for a variable instead`;
    expect(skipped).toEqual([
      { name: "asking", why: why("${input:api-key}") },
      { name: "odd", why: why("${config:y}") },
      { name: "open", why: why("${TOKEN") },
    ]);
    expect(withValues).toEqual([]);
  });

  it("takes over no server that is disabled", () => {
    const file = {
      mcpServers: {
        off: { command: "x", disabled: true },
        on: { command: "x", disabled: false, enabled: true },
      },
      mcp_servers: { out: { command: "x", enabled: false } },
    };
    const { servers, skipped } = imported(file) ?? {};
    expect(servers?.map(({ name }) => name)).toEqual(["on"]);
    expect(skipped).toEqual([
      { name: "off", why: "it is disabled there" },
      { name: "out", why: "it is disabled there" },
    ]);
  });

  it("finds the servers of Codex, VS Code and Zed where these keep them", () => {
    const codex = {
      mcp_servers: {
        docs: { command: "npx", args: ["docs"], env: { A: "1" }, env_vars: ["TOKEN"] },
        remote: {
          url: "https://x.example/mcp",
          bearer_token_env_var: "X_TOKEN",
          http_headers: { "X-Team": "ptc" },
          env_http_headers: { "X-Key": "X_KEY" },
        },
      },
    };
    expect(imported(codex)?.servers).toEqual([
      {
        name: "docs",
        transport: "stdio",
        command: "npx",
        args: ["docs"],
        env: { TOKEN: "${TOKEN}", A: "1" },
      },
      {
        name: "remote",
        transport: "http",
        url: "https://x.example/mcp",
        headers: { "X-Team": "ptc", "X-Key": "${X_KEY}", Authorization: "Bearer ${X_TOKEN}" },
      },
    ]);
    for (const file of [
      { servers: { a: { command: "x" } }, inputs: [] },
      { mcp: { servers: { a: { command: "x" } } } },
      { context_servers: { a: { command: "x", args: [] } } },
    ])
      expect(imported(file)?.servers.map(({ name }) => name)).toEqual(["a"]);
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

  it("shows every key there is, and says what its default is", () => {
    const whole = renderConfiguration([]);
    const keys = [...Object.keys(Settings.parse({})), "extract", "sessions"];
    expect(keys.filter((key) => !whole.includes(`\n# ${key}:`))).toEqual([]);
    const text = whole.replaceAll(/^# ?(?=[a-z]+:$| {2})/gm, "").replace("files: [rules.cedar]", "files: []");
    const environment = { GITHUB_TOKEN: "x", TOKEN: "y" };
    const written = parseConfiguration(text, { file: "ptc.yaml", directory: "/p", environment });
    const defaults = parseConfiguration("", { file: "ptc.yaml", directory: "/p", environment });
    const { execution, sandbox, archive } = defaults;
    expect(written).toMatchObject({ execution, sandbox, archive });
    expect(written.servers.map(({ name }) => name)).toEqual(["github", "internal-apis", "local", "ptc"]);
    expect(written).toMatchObject({ sessions: { max: 4, idleMs: 600_000 } });
  });
});
