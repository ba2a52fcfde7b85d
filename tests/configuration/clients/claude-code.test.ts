// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the syntax under test
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { describeTwice, entryInstead, findPtcInClaude } from "../../../configuration/clients/claude-code.ts";

const root = realpathSync(mkdtempSync(join(tmpdir(), "ptc-claude-")));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const ENTRY = { command: "ptc", args: ["serve"] };

/** A home with Claude Code's files, and a folder below a repository's. */
function setUp(files: (folder: string, repository: string) => Record<string, unknown>) {
  const base = mkdtempSync(join(root, "home-"));
  const repository = join(base, "repository");
  const folder = join(repository, "inside");
  mkdirSync(join(repository, ".git"), { recursive: true });
  mkdirSync(folder);
  for (const [file, content] of Object.entries(files(folder, repository))) {
    const path = join(base, file);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content));
  }
  const env = { HOME: base };
  return {
    folder,
    found: () => findPtcInClaude(env, folder),
    instead: (configuration?: string) => entryInstead(env, folder, configuration)?.name,
  };
}

const PLUGIN = {
  ".claude/plugins/installed_plugins.json": { plugins: { "ptc@ptc": [{ scope: "user" }] } },
};

describe("ptc in Claude Code", () => {
  it("is found by the plugin and as entries of the folder, of the repository around it and of the user", () => {
    const { found, folder } = setUp((_, repository) => ({
      ...PLUGIN,
      ".claude.json": {
        mcpServers: { all: ENTRY, other: { command: "o" } },
        projects: {
          [repository]: { mcpServers: { mine: { command: "ptc", args: ["serve", "--config", "/x.yaml"] } } },
        },
      },
      "repository/.mcp.json": {
        mcpServers: {
          shared: { command: "ptc", args: ["serve", "--config", "${CLAUDE_PROJECT_DIR:-.}/ptc.yaml"] },
        },
      },
    }));
    expect(found()).toMatchObject({
      plugin: "ptc@ptc",
      entries: [
        { name: "mine", configuration: "/x.yaml", isApproved: true },
        { name: "shared", configuration: join(folder, "ptc.yaml"), isApproved: false },
        { name: "all", configuration: undefined, isApproved: true },
      ],
    });
    expect(describeTwice(found())).toMatch(
      /^has ptc by the plugin ptc@ptc and as 'mine' in .*\.claude\.json and 'shared'/,
    );
  });

  it.each<[string, Record<string, unknown>, boolean]>([
    ["nobody was asked about it", {}, false],
    [
      "it is approved in the folder",
      { "repository/inside/.claude/settings.local.json": { enabledMcpjsonServers: ["p"] } },
      true,
    ],
    ["all of them are approved", { ".claude/settings.json": { enableAllProjectMcpServers: true } }, true],
    [
      "it is refused",
      { ".claude/settings.json": { enableAllProjectMcpServers: true, disabledMcpjsonServers: ["p"] } },
      false,
    ],
  ])("starts an entry of the project's file only with an approval: %s", (_, files, isStarted) => {
    const { instead } = setUp(() => ({ ...files, "repository/.mcp.json": { mcpServers: { p: ENTRY } } }));
    expect(instead()).toBe(isStarted ? "p" : undefined);
  });

  it("is not counted where it is switched off, or where the file cannot be read", () => {
    const off = setUp((folder) => ({
      ".claude.json": { mcpServers: { a: ENTRY }, projects: { [folder]: { disabledMcpServers: ["a"] } } },
    }));
    expect(off.found().entries).toEqual([]);
    expect(setUp(() => ({ ".claude.json": "{" })).found()).toEqual({ plugin: undefined, entries: [] });
  });

  it.each<[string, Record<string, unknown>]>([
    ["switched off", { ".claude/settings.json": { enabledPlugins: { "ptc@ptc": false } } }],
    [
      "installed for another folder",
      { ".claude/plugins/installed_plugins.json": { plugins: { "ptc@ptc": [{ projectPath: "/else" }] } } },
    ],
  ])("is not there by a plugin that is %s", (_, files) => {
    const { found } = setUp(() => ({ ...PLUGIN, ...files, ".claude.json": { mcpServers: { a: ENTRY } } }));
    expect(found().plugin).toBeUndefined();
    expect(describeTwice(found())).toBeUndefined();
  });

  it("has the plugin stand aside for the same ptc.yaml, and not for another", () => {
    const { instead, folder } = setUp((inside) => ({
      ".claude.json": {
        mcpServers: { a: { command: "ptc", args: ["serve", "--config", join(inside, "ptc.yaml")] } },
      },
    }));
    expect(instead(join(folder, "ptc.yaml"))).toBe("a");
    expect(instead(undefined)).toBe("a");
    expect(instead(join(folder, "other.yaml"))).toBeUndefined();
  });
});
