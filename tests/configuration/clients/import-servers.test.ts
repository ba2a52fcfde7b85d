import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { toolSettings } from "../../../configuration/clients/client-rules.ts";
import {
  type ImportedServers,
  type ImportOptions,
  importServers,
} from "../../../configuration/clients/import-servers.ts";
import { parseConfiguration } from "../../../configuration/parse.ts";
import { renderConfiguration } from "../../../configuration/write-file.ts";

type Case = { name: string; file: object; settings?: object; options?: ImportOptions } & ImportedServers;
const CASES: Case[] = parse(readFileSync(join(import.meta.dirname, "imports.yaml"), "utf8"));

const VARIABLES: Record<string, string> = {
  "/home/me/project/.env": "A=1 # one\nexport TOKEN='t $x'\nB=from file\nC=${X}\n",
};

const imported = (file: unknown, options?: ImportOptions) =>
  importServers(file, "/home/me/project", {
    home: "/home/me",
    readFile: (path) => VARIABLES[path],
    ...options,
  });

describe("importing servers", () => {
  it.each(CASES)("$name", ({ file, options, servers, ...said }) => {
    const { settings = {}, skipped = [], withValues = [], notes = [] } = said;
    const { tools = [], ...rest } = imported(file, options) ?? {};
    expect(rest).toEqual({ servers, skipped, withValues, notes });
    const { notes: _, ...given } = toolSettings(servers, tools);
    expect(given).toEqual(settings);
    const text = renderConfiguration(servers, given);
    const read = parseConfiguration(text, { file: "ptc.yaml", directory: "/", environment: {} });
    expect(read.servers.map(({ name }) => name)).toEqual(servers.map(({ name }) => name));
  });

  it.each([[[]], [null], [{}], [{ servers: {} }], [{ mcpServers: [] }]])("finds no servers in %j", (file) => {
    expect(imported(file)).toBeUndefined();
  });
});
