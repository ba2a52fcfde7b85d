import { FOLDERS } from "../../scripts/import-rules.ts";

/** What is imported, by which file, with which text, and the rule that this breaks. */
type Planted = [what: string, file: string, text: string, rule: string];

/** Packages that one file or folder may import. */
export const OWNED_PACKAGES = [
  "@cedar-policy/cedar-wasm",
  "@napi-rs/keyring",
  "ipaddr.js",
  "undici",
  "dockerode",
  "esbuild",
  "json-schema-to-typescript",
  "typescript",
  "@modelcontextprotocol/client",
  "@modelcontextprotocol/server",
];

/** At least one import for each rule that breaks it. */
export const PLANTED: readonly Planted[] = [
  [
    "a folder above",
    "protocol/x.ts",
    'import { session } from "../broker/session.ts";\nsession;',
    "protocol-imports",
  ],
  [
    "a folder above, as a type",
    "sandbox/x.ts",
    'import type { session } from "../broker/session.ts";\nexport type X = typeof session;',
    "sandbox-imports",
  ],
  [
    "a folder above, lazily",
    "catalog/x.ts",
    'export const x = () => import("../cli/main.ts");',
    "catalog-imports",
  ],
  [
    "anything but protocol into the image",
    "runner-image/x.ts",
    'export * from "../broker/session.ts";',
    "runner-image-imports",
  ],
  ["benchmarks into tests", "tests/x.ts", 'import "../bench/fake.ts";', "tests-imports"],
  ["tests", "cli/x.ts", 'import { fake } from "../tests/fake.ts";\nfake;', "cli-imports"],
  [
    "a package that another file owns",
    "broker/x.ts",
    'import docker from "dockerode";\ndocker;',
    "one-importer-of-dockerode",
  ],
  [
    "the package of ptc's own connections",
    "wiring/x.ts",
    'import { Agent } from "undici";\nAgent;',
    "one-importer-of-undici",
  ],
  [
    "a folder beside it",
    "system/x.ts",
    'import { session } from "../broker/session.ts";\nsession;',
    "system-imports",
  ],
  [
    "a package that a folder beside it owns",
    "upstream/authorization/x.ts",
    'import client from "@modelcontextprotocol/client";\nclient;',
    "one-importer-of-@modelcontextprotocol/client",
  ],
  [
    "what sends telemetry",
    "wiring/x.ts",
    'import { trace } from "@opentelemetry/api";\ntrace;',
    "one-importer-of-@opentelemetry",
  ],
  ["a command into telemetry", "telemetry/x.ts", 'import "../wiring/host.ts";', "telemetry-imports"],
  [
    "the redactor where nothing leaves",
    "cli/x.ts",
    'import type { redact } from "../secrets/redaction.ts";\nexport type X = typeof redact;',
    "one-boundary-of-redaction",
  ],
  [
    "the file system into codegen",
    "codegen/x.ts",
    'import { readFileSync } from "node:fs";\nreadFileSync;',
    "codegen-is-pure",
  ],
  [
    "effects into base",
    "base/x.ts",
    'import { readFileSync } from "node:fs";\nreadFileSync;',
    "base-is-bare",
  ],
  ["what knows of ptc into base", "base/x.ts", 'import "../protocol/limits.ts";', "base-imports"],
  [
    "the broker into servers' room",
    "upstream/x.ts",
    'import { session } from "../broker/session.ts";\nsession;',
    "upstream-imports",
  ],
  ["a server into secrets", "secrets/x.ts", 'import "../broker/session.ts";', "secrets-imports"],
  [
    "the bundler into what executes programs in any language",
    "execution/x.ts",
    'import "../languages/typescript/bundling/bundle.ts";',
    "languages-typescript-importers",
  ],
  [
    "what prepares programs in Python into what executes programs in any language",
    "execution/x.ts",
    'import "../languages/python/python.ts";',
    "languages-python-importers",
  ],
  [
    "the bundler into what prepares programs in any language",
    "languages/x.ts",
    'import "./typescript/bundling/bundle.ts";',
    "languages-typescript-importers",
  ],
  [
    "the printer of one language into what bundles programs in another",
    "languages/python/x.ts",
    'import type { printed } from "../../codegen/typescript/print.ts";\nexport type X = typeof printed;',
    "codegen-typescript-importers",
  ],
  [
    "the printer of stubs into what knows all languages",
    "languages/x.ts",
    'import type { stubs } from "../codegen/python/print.ts";\nexport type X = typeof stubs;',
    "codegen-python-importers",
  ],
  [
    "the printer of one language into what models talk to",
    "server/x.ts",
    'export const x = () => import("../codegen/typescript/print.ts");',
    "codegen-typescript-importers",
  ],
  [
    "the printer of one language into what prints in any",
    "codegen/x.ts",
    'import "./typescript/print.ts";',
    "codegen-typescript-importers",
  ],
  [
    "SQLite into commands",
    "cli/commands/runs/x.ts",
    'import { store } from "../../../archive/sqlite/sqlite-archive-store.ts";\nstore;',
    "one-opener-of-archives",
  ],
  [
    "SQLite into what carries runs, as a type",
    "archive/portable/x.ts",
    'import type { store } from "../sqlite/sqlite-archive-store.ts";\nexport type X = typeof store;',
    "one-opener-of-archives",
  ],
  [
    "SQLite into the wiring",
    "wiring/x.ts",
    'import { store } from "../archive/sqlite/sqlite-archive-store.ts";\nstore;',
    "one-opener-of-archives",
  ],
  [
    "the form of files of runs into commands",
    "cli/commands/runs/x.ts",
    'import { lines } from "../../../archive/portable/portable-format.ts";\nlines;',
    "one-carrier-of-runs",
  ],
  [
    "the form of files of runs into SQLite",
    "archive/sqlite/x.ts",
    'import { lines } from "../portable/portable-format.ts";\nlines;',
    "one-carrier-of-runs",
  ],
  ["itself in a circle", "broker/x.ts", 'import { x } from "./x.ts";\nexport const y = x;', "no-cycles"],
  [
    "an engine into the rest of the sandbox",
    "sandbox/walls/x.ts",
    'import type { engine } from "../docker/docker-engine.ts";\nexport type X = typeof engine;',
    "docker-is-one-engine",
  ],
  [
    "an engine into execution",
    "execution/x.ts",
    'export const x = () => import("../sandbox/docker/docker-engine.ts");',
    "docker-is-one-engine",
  ],
  [
    "an engine into a command",
    "cli/commands/x.ts",
    'import { engine } from "../../sandbox/docker/docker-engine.ts";\nengine;',
    "wiring-hides-engines",
  ],
  [
    "what starts sandboxes into a command, as a type",
    "cli/commands/x.ts",
    'import type { source } from "../../sandbox/sandbox-starter.ts";\nexport type X = typeof source;',
    "wiring-hides-engines",
  ],
  [
    "MCP servers into a command",
    "cli/commands/x.ts",
    'export const x = () => import("../../upstream/mcp/mcp-upstream.ts");',
    "wiring-hides-engines",
  ],
  [
    "an engine's error into the server",
    "server/x.ts",
    'import "../sandbox/sandbox-error.ts";',
    "server-imports",
  ],
  ["what is not there", "broker/x.ts", 'import "./nowhere.ts";', "resolvable"],
  [
    "what executes programs into the broker",
    "broker/x.ts",
    'import "../execution/run.ts";',
    "broker-imports",
  ],
  ["servers into source text", "codegen/x.ts", 'import "../upstream/upstream-error.ts";', "codegen-imports"],
  [
    "what executes programs into the archive",
    "archive/x.ts",
    'import "../execution/run.ts";',
    "archive-imports",
  ],
  [
    "the wiring into what executes programs",
    "execution/x.ts",
    'import "../wiring/host.ts";',
    "execution-imports",
  ],
  ["the server into the wiring", "wiring/x.ts", 'import "../server/mcp.ts";', "wiring-imports"],
  [
    "a package into the wall",
    "protocol/x.ts",
    'import docker from "dockerode";\ndocker;',
    "protocol-packages",
  ],
  [
    "a package into the image",
    "runner-image/x.ts",
    'import docker from "dockerode";\ndocker;',
    "runner-packages",
  ],
  ...FOLDERS.filter((folder) => folder !== "cli").map(
    (folder): Planted => [
      `the commands into ${folder}/`,
      `${folder}/x.ts`,
      'import "../cli/main.ts";',
      `${folder}-imports`,
    ],
  ),
  ...OWNED_PACKAGES.map(
    (name): Planted => [
      `${name} a second time`,
      "broker/x.ts",
      `import owned from "${name}";\nowned;`,
      `one-importer-of-${name}`,
    ],
  ),
];
