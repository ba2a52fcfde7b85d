import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");
const read = (file: string) => readFileSync(join(root, file), "utf8");

/** Files other than package.json that contain the version, and where. */
const VERSIONED: Readonly<Record<string, (text: string) => string | undefined>> = {
  "server.json": (text) => JSON.parse(text).version,
  "CHANGELOG.md": (text) => /^## (\d\S*)/m.exec(text)?.[1],
  "plugin/.claude-plugin/plugin.json": (text) => JSON.parse(text).version,
  "deploy/chart/Chart.yaml": (text) => /^version: (.*)$/m.exec(text)?.[1],
  "clients/python/pyproject.toml": (text) => /^version = "(.*)"$/m.exec(text)?.[1],
};

/**
 * Everything that prevents a release of the sources, one line each.
 *
 * @param tag the one that the release is made of.
 */
export function releaseProblems(tag?: string): string[] {
  const { version, name, mcpName } = JSON.parse(read("package.json"));
  const server = JSON.parse(read("server.json"));
  const problems = Object.entries(VERSIONED).flatMap(([file, versionOf]) => {
    const found = existsSync(join(root, file)) ? versionOf(read(file)) : version;
    return found === version ? [] : [`${file} says ${found}, and package.json ${version}`];
  });
  if (tag !== undefined && tag !== `v${version}`)
    problems.push(`the tag is ${tag}, and package.json ${version}`);
  for (const { identifier, version: packaged } of server.packages)
    if (identifier !== name || packaged !== version)
      problems.push(`server.json names ${identifier} ${packaged}, and package.json ${name} ${version}`);
  if (server.name !== mcpName) problems.push(`server.json is ${server.name}, and mcpName ${mcpName}`);
  return problems;
}
