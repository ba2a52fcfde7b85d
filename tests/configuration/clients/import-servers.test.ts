import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { type ImportedServers, importServers } from "../../../configuration/clients/import-servers.ts";
import { parseConfiguration } from "../../../configuration/parse.ts";
import { renderConfiguration } from "../../../configuration/write-file.ts";

type Case = { name: string; file: object } & ImportedServers;
const CASES: Case[] = parse(readFileSync(join(import.meta.dirname, "imports.yaml"), "utf8"));

const imported = (file: unknown) => importServers(file, "/home/me/project");

describe("importing servers", () => {
  it.each(CASES)("$name", ({ file, servers, skipped = [], withValues = [] }) => {
    expect(imported(file)).toEqual({ servers, skipped, withValues });
    const text = renderConfiguration(servers);
    const read = parseConfiguration(text, { file: "ptc.yaml", directory: "/", environment: {} });
    expect(read.servers.map(({ name }) => name)).toEqual(servers.map(({ name }) => name));
  });

  it.each([[[]], [null], [{}], [{ servers: {} }], [{ mcpServers: [] }]])("finds no servers in %j", (file) => {
    expect(imported(file)).toBeUndefined();
  });
});
