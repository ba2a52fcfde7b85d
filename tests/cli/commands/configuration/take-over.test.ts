import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { decodeFile } from "../../../../base/file-text.ts";
import { changeEntry, type EditedFile } from "../../../../configuration/clients/client-changes.ts";
import { changeFile } from "../../../../project/clients/client-files.ts";
import { expectRefusal, folderOfTest, projectInProcess, ptcIn, userProject } from "../../in-process.ts";
import { fixtureServer } from "../../ptc-process.ts";
import { FakeTerminal } from "../../terminal/terminals.ts";

const TOKEN = "abcd1234efgh5678";
const JSON_FILE = ".mcp.json";
const JSON_TEXT = `{
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
`;
const TOML_FILE = "~/.codex/config.toml";
const TOML_TEXT = `model = "m" # mine

[mcp_servers.files]
command = "npx" # with a comment
args = ["-y", "files", "."]

[mcp_servers.files.env]
TOKEN = "${TOKEN}"

[mcp_servers.codexy] # stays? no
command = "cx"

[tui]
theme = "dark"
`;
const CHANGES = "~/.local/state/ptc/client-changes";

function newProject(files: Record<string, string> = { [JSON_FILE]: JSON_TEXT, [TOML_FILE]: TOML_TEXT }) {
  const project = userProject(files);
  const { ptc, path, read } = project;
  return {
    ...project,
    changes: path(CHANGES),
    kept: () => (project.has(CHANGES) ? readdirSync(path(CHANGES)) : []),
    takeOver: () => ptc("init", "--import", "--all", "--take-over"),
    undo: (...flags: string[]) => ptc("install", ...flags, "--undo", "--yes"),
    expectAsBefore: () => {
      for (const [file, text] of Object.entries(files)) expect(read(file)).toBe(text);
    },
  };
}

describe("taking over the servers of clients", () => {
  it("leaves them in a pipe, and says in one line how they are taken out", async () => {
    const { ptc, expectAsBefore, kept } = newProject();
    const { code, stderr } = await ptc("init", "--import", "--all");
    expect(code).toBe(0);
    expect(stderr.split("\n").filter((line) => line.includes("--take-over"))).toEqual([
      "ptc: Claude Code, Codex still have files, hub, codexy beside ptc: `ptc install --take-over` takes them out, `ptc install --undo` puts them back",
    ]);
    expectAsBefore();
    expect(kept()).toEqual([]);
  });

  it("takes them out with --take-over, and --undo puts every byte back", async () => {
    const { takeOver, undo, ptc, read, kept, changes, expectAsBefore } = newProject();
    const { code, stdout, stderr } = await takeOver();
    expect(code).toBe(0);
    expect(stdout).toMatch(/^- {2}hub +https:\/\/hub\.example\/mcp +Claude Code, \.mcp\.json$/m);
    expect(stdout).toMatch(/^- {2}codexy +cx +Codex, ~\/\.codex\/config\.toml \(for all your folders\)$/m);
    expect(stdout).toContain("took out 4 entries; `ptc install --undo` puts them back\n");
    expect(stdout + stderr).not.toContain(TOKEN);
    expect(read(JSON_FILE)).toMatch(/\/\/ ours[\s\S]*"odd"/);
    expect(read(JSON_FILE)).not.toMatch(/files|hub/);
    expect(read(TOML_FILE)).toBe('model = "m" # mine\n\n[tui]\ntheme = "dark"\n');
    expect(statSync(changes).mode & 0o777).toBe(0o700);
    for (const file of kept()) expect(statSync(join(changes, file)).mode & 0o777).toBe(0o600);
    expect((await undo()).code).toBe(0);
    expectAsBefore();
    expect(kept()).toEqual([]);
    expect((await ptc("install", "--undo")).stdout).toBe(
      "ptc has changed nothing in clients' files from this folder that is not undone\n",
    );
  });

  it("takes out later what ptc.yaml has by then, of one client or of all, and nothing else", async () => {
    const { ptc, undo, read } = newProject();
    await ptc("init", "--import", "--all", "--keep");
    expect(await ptc("install", "claude", "--take-over", "--yes")).toMatchObject({ code: 0 });
    expect(read(JSON_FILE)).not.toMatch(/"files"|"hub"/);
    expect(read(JSON_FILE)).toMatch(/"odd"[\s\S]*"ptc"/);
    expect(read(TOML_FILE)).toBe(TOML_TEXT);
    expect((await ptc("install", "--take-over")).stdout).toContain("took out 2 entries");
    expect((await ptc("install", "--take-over")).stdout).toBe(
      "no client here has a server that ptc.yaml has; nothing to do\n",
    );
    expect((await undo("codex")).code).toBe(0);
    expect(read(TOML_FILE)).toBe(TOML_TEXT);
    expect((await undo()).stdout).toContain(".mcp.json: ptc: taken out again\n");
    expect(read(JSON_FILE)).toBe(JSON_TEXT);
  });

  it("leaves a server of the same name that is another one", async () => {
    const { ptc, read, write } = newProject();
    await ptc("init", "--import", "--all", "--keep");
    write(JSON_FILE, '{"mcpServers":{"files":{"command":"npx","args":["-y","others"]}}}');
    await ptc("install", "--take-over");
    expect(read(JSON_FILE)).toContain("others");
  });

  it("takes out those of a project and of the user in Claude Code's file, which hide each other", async () => {
    const { folder, ptc, undo, read, write } = newProject({});
    const files = { type: "stdio", command: "npx", args: ["-y", "files"] };
    const others = { "/else": { mcpServers: { files } } };
    const projects = { [folder]: { mcpServers: { files }, history: [1] }, ...others };
    const before = JSON.stringify({ mcpServers: { files, other: { command: "o" } }, projects });
    write("~/.claude.json", before);
    expect((await ptc("init", "--import", "--take-over")).code).toBe(0);
    expect(JSON.parse(read("~/.claude.json"))).toEqual({
      projects: { [folder]: { history: [1] }, ...others },
    });
    expect((await undo()).code).toBe(0);
    expect(read("~/.claude.json")).toBe(before);
  });

  it.each([
    ["y\r", true],
    ["\r", false],
    ["\u0003", false],
  ])("asks on a terminal, and takes %j as it is meant", async (typed, isTaken) => {
    const { atTerminal, ptc, read } = newProject({ [JSON_FILE]: JSON_TEXT });
    await ptc("init", "--import", "--keep");
    const terminal = new FakeTerminal(200);
    const installing = atTerminal(terminal, "install", "claude", "--yes");
    await terminal.shows(/- {2}hub[\s\S]*Take them out\? .*\[y\/N\]: $/);
    expect(read(JSON_FILE)).toContain('"hub"');
    terminal.type(typed);
    expect((await installing).code).toBe(0);
    expect(read(JSON_FILE).includes('"hub"')).toBe(!isTaken);
  });

  it("leaves a file in which nothing is left, and puts every byte back", async () => {
    const only = '{ "mcpServers": { "files": { "command": "npx" } } }';
    const { takeOver, undo, read } = newProject({ [JSON_FILE]: only });
    await takeOver();
    expect(read(JSON_FILE)).toBe("{}\n");
    await undo();
    expect(read(JSON_FILE)).toBe(only);
  });

  it("keeps byte order marks, and the encoding of a file in UTF-16", async () => {
    const { folder, takeOver, undo } = newProject({});
    const path = join(folder, JSON_FILE);
    const text = '\ufeff{"mcpServers":{"files":{"command":"npx"},"gone":{"command":"x","disabled":true}}}';
    for (const before of [
      Buffer.from(text, "utf8"),
      Buffer.from(text, "utf16le"),
      Buffer.from(text, "utf16le").swap16(),
    ]) {
      writeFileSync(path, before);
      expect((await takeOver()).code).toBe(0);
      const after = readFileSync(path);
      expect(after.subarray(0, 2)).toEqual(before.subarray(0, 2));
      expect(decodeFile(after)).toBe('{"mcpServers":{"gone":{"command":"x","disabled":true}}}');
      expect((await undo()).code).toBe(0);
      expect(readFileSync(path)).toEqual(before);
      rmSync(join(folder, "ptc.yaml"));
    }
  });

  it("leaves no folder that ptc has made, and every other one", async () => {
    const { folder, ptc, undo, has } = newProject({});
    expect((await ptc("install", "cursor", "--yes")).code).toBe(0);
    expect(has(".cursor/mcp.json")).toBe(true);
    expect((await undo()).code).toBe(0);
    expect(has(".cursor")).toBe(false);
    await ptc("install", "vscode", "--yes");
    expect((await ptc("install", "vscode", "--remove", "--yes")).code).toBe(0);
    expect(has(".vscode")).toBe(false);
    mkdirSync(join(folder, ".cursor"));
    await ptc("install", "cursor", "--yes");
    await undo();
    expect(has(".cursor")).toBe(true);
    await ptc("install", "gemini", "--yes");
    writeFileSync(join(folder, ".gemini/mine"), "");
    await undo();
    expect(has(".gemini/mine")).toBe(true);
  });

  it("writes through a link within the folder, and through none that leads out of it", async () => {
    for (const real of ["shared.json", "~/dotfiles.json"]) {
      const { takeOver, undo, path, read } = newProject({ [real]: JSON_TEXT });
      symlinkSync(path(real), path(JSON_FILE));
      expect((await takeOver()).code).toBe(0);
      if (real.startsWith("~")) expect(read(real)).toBe(JSON_TEXT);
      else expect(read(real)).not.toContain('"hub"');
      await undo();
      expect(read(real)).toBe(JSON_TEXT);
      expect(lstatSync(path(JSON_FILE)).isSymbolicLink()).toBe(true);
    }
  });

  it("is refused where nothing is imported", async () => {
    const refused = await newProject({}).ptc("init", "--take-over");
    expectRefusal(refused, "--take-over and --keep go with --import");
  });
});

describe("undoing in a file that was edited since", () => {
  it("puts back exactly the entries, and keeps every other edit", async () => {
    const { ptc, takeOver, undo, read, write, kept } = newProject();
    await takeOver();
    write(JSON_FILE, read(JSON_FILE).replace('"odd": { "command": 7 }', '"mine": { "command": "m" } // new'));
    write(TOML_FILE, `${read(TOML_FILE)}# more\n\n[mcp_servers.later]\ncommand = "l"\n`);
    expect((await undo()).code).toBe(0);
    const json = read(JSON_FILE);
    for (const part of ["// ours", "// new", "// with a comment", '"mine"', '"hub"', TOKEN])
      expect(json).toContain(part);
    expect(json).not.toContain("odd");
    const toml = read(TOML_FILE);
    for (const part of ["# mine", "# more", "# with a comment", "later", "files.env", "codexy"])
      expect(toml).toContain(part);
    expect(kept()).toEqual([]);
    // What is there again is what was taken out.
    expect((await ptc("install", "--take-over")).stdout).toContain("took out 4 entries");
  });

  it("puts them into a file that a client has written anew", async () => {
    const { takeOver, undo, read, write } = newProject({ [JSON_FILE]: JSON_TEXT });
    await takeOver();
    write(JSON_FILE, '{"other":1}');
    expect((await undo()).code).toBe(0);
    expect(read(JSON_FILE)).toMatch(/"other":1[\s\S]*"hub"[\s\S]*"files"/);
  });

  it("refuses for an entry that is another one by now, says so, and still undoes the rest", async () => {
    const { takeOver, undo, read, write, kept } = newProject({ [JSON_FILE]: JSON_TEXT });
    await takeOver();
    write(JSON_FILE, '{"mcpServers":{"files":{"command":"mine"}}}');
    const { code, stdout, stderr } = await undo();
    expect(code).toBe(1);
    expect(stderr).toBe(
      "ptc: .mcp.json: 'files' is there again meanwhile, otherwise than ptc knows it; it stays as it is, change it by hand\n",
    );
    expect(stdout).toContain(".mcp.json: hub: put back\n");
    expect(JSON.parse(read(JSON_FILE))).toEqual({
      mcpServers: { files: { command: "mine" }, hub: { url: `https://hub.example/mcp?key=${TOKEN}` } },
    });
    expect(kept()).toHaveLength(1);
  });

  it.each([
    ["edited", '{"mcpServers":{"ptc":{"command":"ptc","args":["serve","--config","other.yaml"]}}}', 1],
    ["removed", '{"mcpServers":{}}', 0],
    ["broken", "{", 1],
  ])("leaves ptc's own entry alone where somebody has %s it", async (_, text, code) => {
    const { ptc, undo, read, write } = newProject({});
    await ptc("install", "claude", "--yes");
    write(JSON_FILE, text);
    const undone = await undo();
    expect(undone.code).toBe(code);
    expect(undone.stderr).toMatch(code === 0 ? /^$/ : /^ptc: [^\n]+\n$/);
    expect(read(JSON_FILE)).toBe(text);
  });

  it("ends what was begun where ptc was ended in the middle of it: between two files, and before it forgot", async () => {
    const { takeOver, undo, read, write, kept, expectAsBefore } = newProject();
    await takeOver();
    const changes = kept().map((name) => [name, read(`${CHANGES}/${name}`)] as const);
    const taken = read(TOML_FILE);
    expect((await undo()).code).toBe(0);
    // One file is as it was, and the other is not yet; nothing is forgotten.
    write(TOML_FILE, taken);
    for (const [name, text] of changes) write(`${CHANGES}/${name}`, text);
    const again = await undo();
    expect(again).toMatchObject({ code: 0, stderr: "" });
    expect(again.stdout).toContain(".mcp.json: hub: was so already\n");
    expect(again.stdout).toContain("config.toml: codexy: put back\n");
    expectAsBefore();
    expect(kept()).toEqual([]);
  });

  it("forgets all changes of one entry that were undone, however many ptc had forgotten before it was ended", async () => {
    const before = '{"mcpServers":{"a":{"command":"one"}}}\n';
    const { undo, path, write, read, kept, home, folder: project } = newProject({ [JSON_FILE]: before });
    const place = { client: "Claude Code", path: path(JSON_FILE), format: "json", keys: ["mcpServers"] };
    for (const command of ["two", "three"])
      await changeFile(place.path, JSON_FILE, { env: { HOME: home } }, async (text) => {
        const edit = { name: "a", entry: { command }, mayChange: () => true };
        const { text: next, change } = await changeEntry({ ...place, project } as EditedFile, text, edit);
        return { text: next, changes: change === undefined ? [] : [change] };
      });
    const all = kept().sort();
    expect(all).toHaveLength(2);
    const texts = all.map((name) => read(`${CHANGES}/${name}`));
    const restore = (count: number) => {
      for (const [index, name] of all.slice(0, count).entries())
        write(`${CHANGES}/${name}`, texts[index] ?? "");
    };
    expect((await undo()).code).toBe(0);
    for (const count of [2, 1]) {
      restore(count);
      expect(await undo()).toMatchObject({ code: 0, stderr: "" });
      expect(read(JSON_FILE)).toBe(before);
      expect(kept()).toEqual([]);
    }
    // What somebody else has written is left alone all the same.
    restore(2);
    write(JSON_FILE, before.replace("one", "mine"));
    expect((await undo()).code).toBe(1);
    expect(read(JSON_FILE)).toContain("mine");
  });

  it("has nothing to undo where an entry was put in and taken out again", async () => {
    const { ptc, kept } = newProject({});
    await ptc("install", "claude", "--yes");
    expect(kept()).toHaveLength(1);
    await ptc("install", "claude", "--remove", "--yes");
    expect(kept()).toEqual([]);
  });

  it("undoes what was done from this folder, and with --all from any", async () => {
    const { ptc, env, has } = newProject({});
    await ptc("install", "cursor", "--scope", "user", "--yes");
    const elsewhere = folderOfTest();
    for (const flags of [[], ["--all"]]) {
      expect(await ptcIn(elsewhere, ["install", "--undo", "--yes", ...flags], { env })).toMatchObject({
        code: 0,
      });
      expect(has("~/.cursor/mcp.json")).toBe(flags.length === 0);
    }
  });

  it("passes over what is no change of ptc's", async () => {
    const { undo, write } = newProject({});
    write(`${CHANGES}/1-ab.json`, '{"version":1,"path":"/etc/passwd"}');
    write(`${CHANGES}/2-ab.json`, "{");
    expect((await undo()).code).toBe(0);
  });
});

/** Where modules are written, and how that is said. */
const FOLDERS: [folder: string, flags: string[]][] = [
  ["generated", []],
  ["out/modules", ["--out", "out/modules"]],
];

/** A project whose links lead to a folder that is not in it. */
function linkedProject(settings: object = {}) {
  const made = projectInProcess({ servers: [fixtureServer("docs", "documents.mjs")], ...settings });
  const { directory } = made.project;
  return { ...made, directory, elsewhere: folderOfTest() };
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

  it("ptc init writes no configuration, also where the link leads to nothing, and ptc add no server", async () => {
    const { ptc, directory, elsewhere } = linkedProject();
    const [own, other] = [join(directory, "ptc.yaml"), join(elsewhere, "ptc.yaml")];
    const before = readFileSync(own, "utf8");
    rmSync(own);
    symlinkSync(other, own);
    expectRefusal(await ptc(["init"]), /^ptc: ptc.yaml is already here; edit it, or remove it first\n$/);
    expect(existsSync(other)).toBe(false);
    writeFileSync(other, before);
    expectRefusal(
      await ptc(["add", "more", "--force", "--", "never-started"]),
      /^ptc: ptc.yaml is a link that leads out of this folder, and nothing was written through it; remove it\n$/,
    );
    expect(readFileSync(other, "utf8")).toBe(before);
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
