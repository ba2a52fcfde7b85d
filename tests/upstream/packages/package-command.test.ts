import { expect, test } from "vitest";
import { packageName, readPackageCommand } from "../../../upstream/packages/package-command.ts";

test.each<[string, string[], object]>([
  ["npx", ["-y", "@scope/server@1.2.3", "/data"], { packages: ["@scope/server@1.2.3"], args: ["/data"] }],
  ["npx", ["--yes", "server@^1.2", "-y"], { packages: ["server@^1.2"], args: ["-y"] }],
  ["/usr/bin/npx", ["server"], { packages: ["server"] }],
  [
    "npx",
    ["-p", "a@1", "--package=b", "run-it", "x"],
    { packages: ["a@1", "b"], program: "run-it", args: ["x"] },
  ],
  ["npx", ["-y", "--", "server", "--flag"], { packages: ["server"], args: ["--flag"] }],
  ["npm", ["exec", "--yes", "--", "server", "x"], { packages: ["server"], args: ["x"] }],
  ["pnpm", ["dlx", "server"], { packages: ["server"] }],
  ["bunx", ["--bun", "server"], { packages: ["server"] }],
  ["uvx", ["server@1.2.3", "--port"], { kind: "python", packages: ["server==1.2.3"], args: ["--port"] }],
  ["uvx", ["server@latest"], { kind: "python", packages: ["server"] }],
  ["uvx", ["--with", "more", "server[cli]"], { kind: "python", packages: ["server[cli]", "more"] }],
  ["uvx", ["--from", "pkg==2", "run-it"], { kind: "python", packages: ["pkg==2"], program: "run-it" }],
  ["uv", ["tool", "run", "server"], { kind: "python", packages: ["server"] }],
  ["pipx", ["run", "--spec", "pkg", "run-it"], { kind: "python", packages: ["pkg"], program: "run-it" }],
])("%s %j names its packages, its program and its arguments", (command, args, expected) => {
  expect(readPackageCommand(command, args)).toEqual({
    ...{ kind: "npm", program: undefined, args: [] },
    ...expected,
  });
});

test.each<[string, string[], RegExp]>([
  ["npx", [], /^npx names no package$/],
  ["npx", ["-y"], /^npx names no package$/],
  ["npx", ["-c", "rm -rf /"], /does not know the option -c of npx/],
  ["npx", ["--registry=http://elsewhere", "a"], /does not know the option --registry of npx/],
  ["npx", ["-p"], /^npx -p names no package$/],
  ["npx", ["./server"], /^\.\/server is no package of a registry/],
  ["npx", ["/srv/server"], /is no package of a registry/],
  ["npx", ["github:owner/server"], /is no package of a registry/],
  ["npx", ["owner/server"], /is no package of a registry/],
  ["npx", ["git+https://example.com/a.git"], /is no package of a registry/],
  ["npx", ["server@https://example.com/a.tgz"], /is no package of a registry/],
  ["npx", ["server@npm:other"], /is no package of a registry/],
  ["npx", ["server@file:../x"], /is no package of a registry/],
  ["npm", ["start"], /^a sandbox starts packages with npm exec or npm x, and not with npm alone$/],
  ["uv", ["run", "server.py"], /^a sandbox starts packages with uv tool run/],
  ["uvx", ["--from", "git+https://example.com/a", "a"], /is no package of a registry.*python3$/],
  ["uvx", ["--python", "3.13", "a"], /does not know the option --python of uvx/],
  ["uvx", ["a @ https://example.com/a.whl"], /is no package of a registry/],
])("%s %j is refused in one line", (command, args, message) => {
  expect(() => readPackageCommand(command, args)).toThrow(message);
});

test("another command fetches no package", () => {
  expect(readPackageCommand("node", ["npx"])).toBeUndefined();
});

test.each([
  ["npm", "@scope/server@1.2.3", "@scope/server"],
  ["npm", "server@^1", "server"],
  ["npm", "@scope/server", "@scope/server"],
  ["python", "Some_Server[cli]>=1,<2", "some-server"],
] as const)("the name of the %s package %s is %s", (kind, text, name) => {
  expect(packageName({ kind }, text)).toBe(name);
});
