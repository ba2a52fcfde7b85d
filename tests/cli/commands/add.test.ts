import { chmodSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { serveProtected } from "../../upstream/authorization/servers/protected-server.ts";
import { serveRouter } from "../../upstream/authorization/servers/router-server.ts";
import { listen, type Seen, serveStreamable } from "../../upstream/mcp/upstream-http-servers.ts";
import { projectFromSources } from "../in-process.ts";
import { hasPython, onTerminal, WITHOUT_PYTHON } from "../terminal/run-on-terminal.ts";

const BEFORE = "# mine\nservers:\n  - name: first # kept\n    command: never-started\n";

describe("ptc add", () => {
  it.skipIf(!hasPython)(`logs in on a terminal where a server asks for that${WITHOUT_PYTHON}`, async () => {
    const router = await serveRouter();
    const server = await serveProtected({ authorizationServers: [router.issuer], verifier: router });
    const project = projectFromSources({
      "ptc.yaml": BEFORE,
      "browser.mjs": `#!${process.execPath}\nawait fetch(process.argv[2]);\n`,
    });
    const browser = join(project.directory, "browser.mjs");
    chmodSync(browser, 0o755);
    const env = { ...project.env, BROWSER: browser };
    const screen = await onTerminal(project, [], ["add", "guarded", server.url], env);
    expect(screen).toContain("ptc: added 'guarded' to ptc.yaml; it asks for a login\n");
    expect(screen).toContain("\nlogged in to 'guarded': 3 tools\n");
    expect(project.read("ptc.yaml")).toContain(`url: ${server.url}`);
    expect(project.read("generated/servers/guarded/index.ts")).toContain("mcp__guarded__echo");
    // Without a terminal, the entry is written too, and what is to be done is said.
    const alone = await project.ptc(["add", "other", server.url], { env });
    expect(alone).toMatchObject({ code: 1, stdout: "added 'other' to ptc.yaml; it does not work yet\n" });
    expect(alone.stderr).toContain("ptc: server 'other' needs a login: run `ptc auth login other`");
  });
});

describe("ptc add of a server of a registry", () => {
  /** A project whose registry has a server at a URL, which takes a secret and a word. */
  async function projectWithRegistry() {
    const seen: Seen = { headers: [], started: 0, aborted: 0 };
    const origin = await listen(serveStreamable(seen).listener);
    const remotes = [
      {
        type: "streamable-http",
        url: `${origin.replace("127.0.0.1", "{host}")}/mcp`,
        variables: { host: { isRequired: true, choices: ["127.0.0.1", "localhost"] } },
        headers: [
          { name: "X-Word", description: "a word", isRequired: true, isSecret: true },
          { name: "X-Unit", default: "c" },
        ],
      },
    ];
    const server = { name: "com.example/weather", description: "Weather", version: "1.0.0", remotes };
    const project = projectFromSources({
      "ptc.yaml": `${BEFORE}registry: mirror/list.json\n`,
      "mirror/list.json": { servers: [server] },
    });
    const sent = (name: string) => seen.headers.at(-1)?.[name];
    return { project, sent };
  }

  it("shows it, and writes it once nobody has to be asked", async () => {
    const { project, sent } = await projectWithRegistry();
    const missing = await project.ptc(["add", "com.example/weather", "--yes"]);
    expect(missing).toMatchObject({ code: 2, stdout: "" });
    expect(missing.stderr).toContain(
      "server: com.example/weather\nwhat it is: Weather\npublisher: com.example\n",
    );
    expect(missing.stderr).toContain(
      "ptc: com.example/weather needs --header 'X-Word: ...' (a word) --argument host=...\n",
    );
    const values = ["--header", "X-Word: abc", "--argument", "host=127.0.0.1"];
    const asked = await project.ptc(["add", "com.example/weather@1.0.0", ...values]);
    expect(asked).toMatchObject({ code: 2, stdout: "" });
    expect(asked.stderr).toContain("X-Word:\n      keyring: weather/X-Word");
    expect(asked.stderr).toContain("nobody can be asked here; --yes adds it");
    expect(project.read("ptc.yaml")).not.toContain("weather");
    const added = await project.ptc([
      "add",
      "weather",
      "--registry",
      "mirror/list.json",
      ...values,
      "--as",
      "sky",
      "--yes",
    ]);
    expect(added.stdout).toMatch(/^added 'sky' to ptc.yaml: /);
    expect(sent("x-word")).toBe("abc");
    expect(sent("x-unit")).toBe("c");
    expect(project.read("ptc.yaml")).toContain("keyring: sky/X-Word");
    expect(project.read("ptc.yaml")).not.toContain("abc");
  });

  it.skipIf(!hasPython)(
    `asks on a terminal for what it needs, and whether to add it${WITHOUT_PYTHON}`,
    async () => {
      const { project, sent } = await projectWithRegistry();
      const values: [string, string][] = [
        ["X-Word \\(a word; it is not shown\\): ", "hidden-word\n"],
        ["X-Unit \\(default c\\): ", "\n"],
        ["host \\(one of 127.0.0.1, localhost\\): ", "elsewhere\n"],
        ["host \\(one of 127.0.0.1, localhost\\): ", "127.0.0.1\n"],
      ];
      const add = ["add", "com.example/weather"];
      const no = await onTerminal(project, [...values, ["Add it, and start it\\?", "n\n"]], add, project.env);
      expect(no).toContain("nothing was written");
      expect(no).not.toContain("hidden-word");
      expect(project.read("ptc.yaml")).not.toContain("weather");
      const yes = await onTerminal(
        project,
        [...values, ["Add it, and start it\\?", "y\n"]],
        add,
        project.env,
      );
      expect(yes).toContain("added 'weather' to ptc.yaml: ");
      expect(sent("x-word")).toBe("hidden-word");
    },
  );

  it.each([
    [["com.example/weather", "--package", "npm", "--yes"], "the server has no 'npm', but remote"],
    [["com.example/weather", "--argument", "a=b", "--yes"], "com.example/weather takes no --argument a; "],
    [["com.example/weather", "--transport", "sse"], "--transport does not go with a server of a registry"],
    [["x", "--yes", "--", "y"], "--yes is for a server of a registry"],
    [["x", "http://127.0.0.1:9", "--argument", "a=b"], "--argument is for a server of a registry"],
    [["com.example/weather", "--env", "A=b", "--yes"], "com.example/weather takes no --env A; "],
    [["https://elsewhere.example/mcp?token=abc"], "say how to reach the server"],
    [["./server.js"], "say how to reach the server"],
    [["com.example/other"], "has no server 'com.example/other'"],
    [["com.example/weather", "--registry", "http://"], "--registry is no valid URL"],
  ])("refuses %j in one line", async (args, said) => {
    const { project } = await projectWithRegistry();
    const { code, stderr } = await project.ptc(["add", ...args]);
    expect(code).toBe(2);
    expect(stderr.trimEnd().split("\n").at(-1)).toContain(said);
    expect(project.read("ptc.yaml")).toBe(`${BEFORE}registry: mirror/list.json\n`);
  });

  it("says where a registry is named if there is none", async () => {
    const project = projectFromSources({ "ptc.yaml": BEFORE });
    expect((await project.ptc(["add", "com.example/weather"])).stderr).toContain(
      "no registry is configured; name one with --registry",
    );
  });
});
