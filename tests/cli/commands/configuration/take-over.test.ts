import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import type { Surroundings } from "../../../../cli/command.ts";
import { changeFile } from "../../../../cli/commands/configuration/client-files.ts";
import { main } from "../../../../cli/main.ts";
import { changeEntry, type EditedFile } from "../../../../configuration/clients/client-changes.ts";
import { projectInProcess, ptcIn } from "../../in-process.ts";
import { fixtureServer } from "../../ptc-process.ts";
import { surroundingsIn } from "../../surroundings.ts";
import { FakeTerminal } from "../../terminal/terminals.ts";

const root = realpathSync(mkdtempSync(join(tmpdir(), "ptc-take-over-")));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const TOKEN = "abcd1234efgh5678";
const FILES = {
  ".mcp.json": `{
  // ours
  "mcpServers": {
    "files": {
      "command": "npx", // with a comment
      "args": ["-y", "files", "."],
      "env": { "TOKEN": "${TOKEN}" }
    },
    "odd": { "command": 7 },
    "hub": { "url": "https://hub.example/mcp?key=${TOKEN}" }, /* last */
  },
}
`,
  ".codex/config.toml": `model = "m" # mine

[mcp_servers.files]
command = "npx" # with a comment
args = ["-y", "files", "."]

[mcp_servers.files.env]
TOKEN = "${TOKEN}"

[mcp_servers.codexy] # stays? no
command = "cx"

[tui]
theme = "dark"
`,
};

function newProject(files: Record<string, string> = FILES) {
  const folder = mkdtempSync(join(root, "project-"));
  const home = mkdtempSync(join(root, "home-"));
  const path = (file: string) =>
    join(file.startsWith(".codex") || file.startsWith("~") ? home : folder, file.replace(/^~\//, ""));
  const run = (args: string[], terminal: Partial<Surroundings> = {}) =>
    ptcIn(folder, args, { script: join(home, "bin/ptc"), env: { HOME: home }, ...terminal });
  const project = {
    folder,
    home,
    path,
    ptc: (...args: string[]) => run(args),
    atTerminal: ({ stdin, stderr }: FakeTerminal, ...args: string[]) => run(args, { stdin, stderr }),
    read: (file: string) => readFileSync(path(file), "utf8"),
    write(file: string, text: string) {
      mkdirSync(dirname(path(file)), { recursive: true });
      writeFileSync(path(file), text);
    },
    kept: () => {
      const changes = join(home, ".local/state/ptc/client-changes");
      return existsSync(changes) ? readdirSync(changes) : [];
    },
  };
  for (const [file, text] of Object.entries(files)) project.write(file, text);
  return project;
}

describe("taking over the servers of clients", () => {
  it("leaves them in a pipe, and says in one line how they are taken out", async () => {
    const { ptc, read, kept } = newProject();
    const { code, stderr } = await ptc("init", "--import", "--all");
    expect(code).toBe(0);
    expect(stderr.split("\n").filter((line) => line.includes("--take-over"))).toEqual([
      "ptc: Claude Code, Codex still have files, hub, codexy beside ptc: `ptc install --take-over` takes them out, `ptc install --undo` puts them back",
    ]);
    for (const [file, text] of Object.entries(FILES)) expect(read(file)).toBe(text);
    expect(kept()).toEqual([]);
  });

  it("takes them out with --take-over, and --undo puts every byte back", async () => {
    const { ptc, read, kept, home } = newProject();
    const { code, stdout, stderr } = await ptc("init", "--import", "--all", "--take-over");
    expect(code).toBe(0);
    expect(stdout).toMatch(/^- {2}hub +https:\/\/hub\.example\/mcp +Claude Code, \.mcp\.json$/m);
    expect(stdout).toMatch(/^- {2}codexy +cx +Codex, ~\/\.codex\/config\.toml \(for all your folders\)$/m);
    expect(stdout).toContain("took out 4 entries; `ptc install --undo` puts them back\n");
    expect(stdout + stderr).not.toContain(TOKEN);
    expect(read(".mcp.json")).toMatch(/\/\/ ours[\s\S]*"odd"/);
    expect(read(".mcp.json")).not.toMatch(/files|hub/);
    expect(read(".codex/config.toml")).toBe('model = "m" # mine\n\n[tui]\ntheme = "dark"\n');
    const folder = join(home, ".local/state/ptc/client-changes");
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    for (const file of kept()) expect(statSync(join(folder, file)).mode & 0o777).toBe(0o600);
    expect((await ptc("install", "--undo", "--yes")).code).toBe(0);
    for (const [file, text] of Object.entries(FILES)) expect(read(file)).toBe(text);
    expect(kept()).toEqual([]);
    expect((await ptc("install", "--undo")).stdout).toBe(
      "ptc has changed nothing in clients' files from this folder that is not undone\n",
    );
  });

  it("takes out later what ptc.yaml has by then, of one client or of all, and nothing else", async () => {
    const { ptc, read } = newProject();
    await ptc("init", "--import", "--all", "--keep");
    expect(await ptc("install", "claude", "--take-over", "--yes")).toMatchObject({
      code: 0,
      stderr: expect.any(String),
    });
    expect(read(".mcp.json")).not.toMatch(/"files"|"hub"/);
    expect(read(".mcp.json")).toMatch(/"odd"[\s\S]*"ptc"/);
    expect(read(".codex/config.toml")).toBe(FILES[".codex/config.toml"]);
    expect((await ptc("install", "--take-over")).stdout).toContain("took out 2 entries");
    expect((await ptc("install", "--take-over")).stdout).toBe(
      "no client here has a server that ptc.yaml has; nothing to do\n",
    );
    expect((await ptc("install", "codex", "--undo", "--yes")).code).toBe(0);
    expect(read(".codex/config.toml")).toBe(FILES[".codex/config.toml"]);
    expect((await ptc("install", "--undo", "--yes")).stdout).toContain(".mcp.json: ptc: taken out again\n");
    expect(read(".mcp.json")).toBe(FILES[".mcp.json"]);
  });

  it("leaves a server of the same name that is another one", async () => {
    const { ptc, read, write } = newProject();
    await ptc("init", "--import", "--all", "--keep");
    write(".mcp.json", '{"mcpServers":{"files":{"command":"npx","args":["-y","others"]}}}');
    await ptc("install", "--take-over");
    expect(read(".mcp.json")).toContain("others");
  });

  it("takes out those of a project and of the user in Claude Code's file, which hide each other", async () => {
    const project = newProject({});
    const files = { type: "stdio", command: "npx", args: ["-y", "files"] };
    const before = JSON.stringify({
      mcpServers: { files, other: { command: "o" } },
      projects: {
        [project.folder]: { mcpServers: { files }, history: [1] },
        "/else": { mcpServers: { files } },
      },
    });
    project.write("~/.claude.json", before);
    expect((await project.ptc("init", "--import", "--take-over")).code).toBe(0);
    expect(JSON.parse(project.read("~/.claude.json"))).toEqual({
      projects: { [project.folder]: { history: [1] }, "/else": { mcpServers: { files } } },
    });
    expect((await project.ptc("install", "--undo", "--yes")).code).toBe(0);
    expect(project.read("~/.claude.json")).toBe(before);
  });

  it.each([
    ["y\r", true],
    ["\r", false],
    ["\u0003", false],
  ])("asks on a terminal, and takes %j as it is meant", async (typed, isTaken) => {
    const { atTerminal, ptc, read } = newProject({ ".mcp.json": FILES[".mcp.json"] });
    await ptc("init", "--import", "--keep");
    const terminal = new FakeTerminal(200);
    const installing = atTerminal(terminal, "install", "claude", "--yes");
    await terminal.shows(/- {2}hub[\s\S]*Take them out\? .*\[y\/N\]: $/);
    expect(read(".mcp.json")).toContain('"hub"');
    terminal.type(typed);
    expect((await installing).code).toBe(0);
    expect(read(".mcp.json").includes('"hub"')).toBe(!isTaken);
  });

  it("removes a file in which nothing is left, and makes it again; it writes through a link within the folder", async () => {
    const only = '{ "mcpServers": { "files": { "command": "npx" } } }\n';
    const project = newProject({ ".mcp.json": only });
    await project.ptc("init", "--import", "--take-over");
    expect(existsSync(project.path(".mcp.json"))).toBe(false);
    await project.ptc("install", "--undo", "--yes");
    expect(project.read(".mcp.json")).toBe(only);

    const linked = newProject({});
    const real = linked.path("shared.json");
    writeFileSync(real, FILES[".mcp.json"]);
    symlinkSync(real, linked.path(".mcp.json"));
    await linked.ptc("init", "--import", "--take-over");
    expect(readFileSync(real, "utf8")).not.toContain('"hub"');
    await linked.ptc("install", "--undo", "--yes");
    expect(readFileSync(real, "utf8")).toBe(FILES[".mcp.json"]);
    expect(lstatSync(linked.path(".mcp.json")).isSymbolicLink()).toBe(true);
  });

  it("takes nothing out through a link that leads out of the folder", async () => {
    const linked = newProject({});
    const real = join(linked.home, "dotfiles.json");
    writeFileSync(real, FILES[".mcp.json"]);
    symlinkSync(real, linked.path(".mcp.json"));
    expect((await linked.ptc("init", "--import", "--take-over")).code).toBe(0);
    expect(readFileSync(real, "utf8")).toBe(FILES[".mcp.json"]);
  });
});

describe("undoing in a file that was edited since", () => {
  it("puts back exactly the entries, and keeps every other edit", async () => {
    const { ptc, read, write, kept } = newProject();
    await ptc("init", "--import", "--all", "--take-over");
    write(
      ".mcp.json",
      read(".mcp.json").replace('"odd": { "command": 7 }', '"mine": { "command": "m" } // new'),
    );
    write(
      ".codex/config.toml",
      `${read(".codex/config.toml")}# more\n\n[mcp_servers.later]\ncommand = "l"\n`,
    );
    expect((await ptc("install", "--undo", "--yes")).code).toBe(0);
    const json = read(".mcp.json");
    for (const part of ["// ours", "// new", "// with a comment", '"mine"', '"hub"', TOKEN])
      expect(json).toContain(part);
    expect(json).not.toContain("odd");
    const toml = read(".codex/config.toml");
    for (const part of ["# mine", "# more", "# with a comment", "later", "files.env", "codexy"])
      expect(toml).toContain(part);
    expect(kept()).toEqual([]);
    // What is there again is what was taken out.
    const { stdout } = await ptc("install", "--take-over");
    expect(stdout).toContain("took out 4 entries");
  });

  it("puts them into a file that a client has written anew", async () => {
    const { ptc, read, write } = newProject({ ".mcp.json": FILES[".mcp.json"] });
    await ptc("init", "--import", "--take-over");
    write(".mcp.json", '{"other":1}');
    expect((await ptc("install", "--undo", "--yes")).code).toBe(0);
    expect(read(".mcp.json")).toMatch(/"other":1[\s\S]*"hub"[\s\S]*"files"/);
  });

  it("refuses for an entry that is another one by now, says so, and still undoes the rest", async () => {
    const { ptc, read, write, kept } = newProject({ ".mcp.json": FILES[".mcp.json"] });
    await ptc("init", "--import", "--take-over");
    write(".mcp.json", '{"mcpServers":{"files":{"command":"mine"}}}');
    const { code, stdout, stderr } = await ptc("install", "--undo", "--yes");
    expect(code).toBe(1);
    expect(stderr).toBe(
      "ptc: .mcp.json: 'files' is there again meanwhile, otherwise than ptc knows it; it stays as it is, change it by hand\n",
    );
    expect(stdout).toContain(".mcp.json: hub: put back\n");
    expect(JSON.parse(read(".mcp.json"))).toEqual({
      mcpServers: { files: { command: "mine" }, hub: { url: `https://hub.example/mcp?key=${TOKEN}` } },
    });
    expect(kept()).toHaveLength(1);
  });

  it.each([
    ["edited", '{"mcpServers":{"ptc":{"command":"ptc","args":["serve","--config","other.yaml"]}}}', 1],
    ["removed", '{"mcpServers":{}}', 0],
    ["broken", "{", 1],
  ])("leaves ptc's own entry alone where somebody has %s it", async (_, text, code) => {
    const { ptc, read, write } = newProject({});
    await ptc("install", "claude", "--yes");
    write(".mcp.json", text);
    const undone = await ptc("install", "--undo", "--yes");
    expect(undone.code).toBe(code);
    expect(undone.stderr).toMatch(code === 0 ? /^$/ : /^ptc: [^\n]+\n$/);
    expect(read(".mcp.json")).toBe(text);
  });

  it("ends what was begun where ptc was ended in the middle of it: between two files, and before it forgot", async () => {
    const { ptc, read, write, kept, home } = newProject();
    const folder = join(home, ".local/state/ptc/client-changes");
    await ptc("init", "--import", "--all", "--take-over");
    const changes = kept().map((name) => [name, readFileSync(join(folder, name), "utf8")] as const);
    const taken = read(".codex/config.toml");
    expect((await ptc("install", "--undo", "--yes")).code).toBe(0);
    // One file is as it was, and the other is not yet; nothing is forgotten.
    write(".codex/config.toml", taken);
    for (const [name, text] of changes) writeFileSync(join(folder, name), text);
    const again = await ptc("install", "--undo", "--yes");
    expect(again).toMatchObject({ code: 0, stderr: "" });
    expect(again.stdout).toContain(".mcp.json: hub: was so already\n");
    expect(again.stdout).toContain("config.toml: codexy: put back\n");
    for (const [file, text] of Object.entries(FILES)) expect(read(file)).toBe(text);
    expect(kept()).toEqual([]);
  });

  it("forgets all changes of one entry that were undone, however many ptc had forgotten before it was ended", async () => {
    const { ptc, path, write, read, kept, home, folder: project } = newProject({});
    const before = '{"mcpServers":{"a":{"command":"one"}}}\n';
    const changes = join(home, ".local/state/ptc/client-changes");
    const file = {
      client: "Claude Code",
      path: path(".mcp.json"),
      format: "json",
      keys: ["mcpServers"],
      project,
    };
    write(".mcp.json", before);
    for (const command of ["two", "three"])
      await changeFile(file.path, ".mcp.json", { env: { HOME: home } }, async (text) => {
        const edit = { name: "a", entry: { command }, mayChange: () => true };
        const { text: next, change } = await changeEntry(file as EditedFile, text, edit);
        return { text: next, changes: change === undefined ? [] : [change] };
      });
    const all = kept().sort();
    expect(all).toHaveLength(2);
    const texts = all.map((name) => readFileSync(join(changes, name), "utf8"));
    const restore = (count: number) => {
      for (const [index, name] of all.slice(0, count).entries())
        writeFileSync(join(changes, name), texts[index] ?? "");
    };
    expect((await ptc("install", "--undo", "--yes")).code).toBe(0);
    for (const count of [2, 1]) {
      restore(count);
      expect(await ptc("install", "--undo", "--yes")).toMatchObject({ code: 0, stderr: "" });
      expect(read(".mcp.json")).toBe(before);
      expect(kept()).toEqual([]);
    }
    // What somebody else has written is left alone all the same.
    restore(2);
    write(".mcp.json", before.replace("one", "mine"));
    expect((await ptc("install", "--undo", "--yes")).code).toBe(1);
    expect(read(".mcp.json")).toContain("mine");
  });

  it("has nothing to undo where an entry was put in and taken out again", async () => {
    const { ptc, kept } = newProject({});
    await ptc("install", "claude", "--yes");
    expect(kept()).toHaveLength(1);
    await ptc("install", "claude", "--remove", "--yes");
    expect(kept()).toEqual([]);
  });

  it("undoes what was done from this folder, and with --all from any", async () => {
    const one = newProject({});
    await one.ptc("install", "cursor", "--scope", "user", "--yes");
    const elsewhere = surroundingsIn(mkdtempSync(join(root, "project-")), [
      "node",
      "ptc",
      "install",
      "--undo",
      "--yes",
    ]);
    expect(await main({ ...elsewhere, env: { HOME: one.home } })).toBe(0);
    expect(existsSync(join(one.home, ".cursor/mcp.json"))).toBe(true);
    const all = surroundingsIn(elsewhere.cwd(), ["node", "ptc", "install", "--undo", "--all", "--yes"]);
    expect(await main({ ...all, env: { HOME: one.home } })).toBe(0);
    expect(existsSync(join(one.home, ".cursor/mcp.json"))).toBe(false);
  });

  it("passes over what is no change of ptc's", async () => {
    const { ptc, home } = newProject({});
    const folder = join(home, ".local/state/ptc/client-changes");
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "1-ab.json"), '{"version":1,"path":"/etc/passwd"}');
    writeFileSync(join(folder, "2-ab.json"), "{");
    expect((await ptc("install", "--undo", "--yes")).code).toBe(0);
  });
});

it.each([
  [["install"], "name a client: claude"],
  [["install", "claude", "--take-over", "--keep"], "give --take-over or --keep, not both"],
  [["install", "claude", "--all"], "--all goes with --undo"],
  [["init", "--take-over"], "--take-over and --keep go with --import"],
])("%j is refused in one line", async (args, message) => {
  const { code, stderr } = await newProject({}).ptc(...args);
  expect(code).toBe(2);
  expect(stderr).toMatch(/^ptc: [^\n]+\n$/);
  expect(stderr).toContain(message);
});

/** Where modules are written, and how that is said. */
const FOLDERS: [folder: string, flags: string[]][] = [
  ["generated", []],
  ["out/modules", ["--out", "out/modules"]],
];

/** A project, and a folder beside it to which its links lead. */
function linkedProject(settings: object = {}) {
  const made = projectInProcess({ servers: [fixtureServer("docs", "documents.mjs")], ...settings });
  const { directory } = made.project;
  const elsewhere = `${directory}-elsewhere`;
  mkdirSync(elsewhere);
  onTestFinished(() => rmSync(elsewhere, { recursive: true, force: true }));
  return { ...made, directory, elsewhere };
}

describe("where a link leads out of the project", () => {
  it.each(FOLDERS)("ptc generate writes no modules to %s", async (folder, flags) => {
    const { ptc, directory, elsewhere } = linkedProject();
    symlinkSync(elsewhere, join(directory, folder.split("/")[0] ?? ""));
    const { code, stderr } = await ptc(["generate", ...flags]);
    expect(code).not.toBe(0);
    expect(stderr).toMatch(/^ptc: \S+ is a link[^\n]*\n$/m);
    expect(readdirSync(elsewhere)).toEqual([]);
  });

  it("ptc add writes no server", async () => {
    const { ptc, directory, elsewhere } = linkedProject();
    const before = readFileSync(join(directory, "ptc.yaml"), "utf8");
    writeFileSync(join(elsewhere, "ptc.yaml"), before);
    rmSync(join(directory, "ptc.yaml"));
    symlinkSync(join(elsewhere, "ptc.yaml"), join(directory, "ptc.yaml"));
    expect(await ptc(["add", "more", "--force", "--", "never-started"])).toEqual({
      code: 2,
      stdout: "",
      stderr:
        "ptc: ptc.yaml is a link that leads out of this folder, and nothing was written through it; remove it\n",
    });
    expect(readFileSync(join(elsewhere, "ptc.yaml"), "utf8")).toBe(before);
  });

  it("ptc init writes no configuration, also where the link leads to nothing", async () => {
    const { ptc, directory, elsewhere } = linkedProject();
    rmSync(join(directory, "ptc.yaml"));
    symlinkSync(join(elsewhere, "ptc.yaml"), join(directory, "ptc.yaml"));
    const { code, stderr } = await ptc(["init"]);
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: "ptc: ptc.yaml is already here; edit it, or remove it first\n",
    });
    expect(existsSync(join(elsewhere, "ptc.yaml"))).toBe(false);
  });

  it("ptc save saves no program", async () => {
    const { ptc, project, directory, elsewhere } = linkedProject({ servers: [] });
    symlinkSync(elsewhere, join(directory, "programs"));
    project.write("one.ts", "// One\nglobalThis.result = 1;\n");
    const { code, stderr } = await ptc(["save", "one.ts", "--name", "one"]);
    expect(code).not.toBe(0);
    expect(stderr).toMatch(
      /^ptc: \S+programs is a link that leads out of the folder of ptc\.yaml, [^\n]*\n$/,
    );
    expect(readdirSync(elsewhere)).toEqual([]);
  });
});
