/** Who may import what. Each comment says what to do instead. */
import type { ICruiseOptions, IForbiddenRuleType } from "dependency-cruiser";

/** Folders of ours that a folder may import, besides itself. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  base: [],
  protocol: ["base"],
  network: ["base"],
  secrets: ["base", "protocol"],
  catalog: ["base", "protocol"],
  codegen: ["base", "protocol", "catalog"],
  "runner-image": ["base", "protocol"],
  upstream: ["base", "protocol", "network", "secrets"],
  broker: ["base", "protocol", "secrets", "catalog", "upstream"],
  sandbox: ["base", "protocol"],
  archive: ["base", "protocol", "network"],
  execution: ["base", "protocol", "secrets", "catalog", "codegen", "broker", "sandbox", "archive"],
  telemetry: ["base", "protocol", "network", "broker", "execution"],
  host: [
    "base",
    "protocol",
    "network",
    "secrets",
    "catalog",
    "codegen",
    "upstream",
    "broker",
    "sandbox",
    "archive",
    "execution",
    "telemetry",
  ],
  server: ["base", "protocol", "catalog", "codegen", "broker", "archive", "execution", "telemetry", "host"],
  cli: [
    "base",
    "protocol",
    "catalog",
    "codegen",
    "upstream",
    "broker",
    "sandbox",
    "archive",
    "execution",
    "telemetry",
    "host",
    "server",
  ],
};

/** Every folder that the rules are about. */
export const FOLDERS: readonly string[] = Object.keys(MAY_IMPORT);

const OURS = [...FOLDERS, "generated", "tests", "bench", "scripts", "examples"];

/** Packages that exactly one file, or one folder, may import. */
const SINGLE_IMPORTER = {
  "@cedar-policy/cedar-wasm": "broker/policy/cedar/cedar-engine.ts",
  "@napi-rs/keyring": "secrets/keyring/",
  "@opentelemetry": "telemetry/opentelemetry/",
  "ipaddr.js": "upstream/authorization/address-guard.ts",
  undici: "network/outgoing.ts",
  dockerode: "sandbox/docker/",
  esbuild: "execution/typescript/bundling/bundler.ts",
  "json-schema-to-typescript": "codegen/typescript/types/print-types.ts",
  "@modelcontextprotocol/client": "upstream/mcp/client/",
  "@modelcontextprotocol/server": "server/mcp/mcp-server.ts",
  typescript: "execution/typescript/typescript-api.ts",
};

const folderRules = Object.entries(MAY_IMPORT).map(([folder, allowed]) => ({
  name: `${folder}-imports`,
  comment: `${folder}/ may import ${allowed.map((each) => `${each}/`).join(", ") || "nothing"} of ours: hand in what it needs through an interface that host/ wires`,
  severity: "error" as const,
  from: { path: `^${folder}/` },
  to: { path: `^(?:${OURS.filter((each) => each !== folder && !allowed.includes(each)).join("|")})/` },
}));

const packageRules = Object.entries(SINGLE_IMPORTER).map(([name, file]) => ({
  name: `one-importer-of-${name}`,
  comment: `only ${file} imports ${name}: use what is exported there`,
  severity: "error" as const,
  from: {
    path: `^(?:${Object.keys(MAY_IMPORT).join("|")})/`,
    pathNot: file.endsWith("/") ? `^${file}` : `^${file}$`,
  },
  to: { path: `^node_modules/${name}/` },
}));

/** Folders that know one language. Everybody else has what they make handed in. */
const LANGUAGE_FOLDERS = ["codegen/typescript", "codegen/python", "execution/typescript", "execution/python"];

const languageRules = LANGUAGE_FOLDERS.map((folder) => ({
  name: `${folder.replace("/", "-")}-importers`,
  comment: `only host/ imports ${folder}/: take a LanguagePrinter (codegen/language-printer.ts) or a Language (execution/prepare/language.ts)`,
  severity: "error" as const,
  from: { path: `^(?:${FOLDERS.join("|")})/`, pathNot: `^(?:${folder}|host)/` },
  to: { path: `^${folder}/` },
}));

export const forbidden: IForbiddenRuleType[] = [
  ...folderRules,
  ...packageRules,
  ...languageRules,
  {
    name: "docker-is-one-engine",
    comment: "only host/composition/ chooses an engine: use the contract in sandbox/sandbox-engine.ts",
    severity: "error",
    from: { path: `^(?:${FOLDERS.join("|")})/`, pathNot: "^(?:host/composition|sandbox/docker)/" },
    to: { path: "^sandbox/docker/" },
  },
  {
    name: "host-wires-engines",
    comment:
      "commands and servers see no engine, no MCP server and no part that calls are made with, but their errors: ask Host, or what else host/ has",
    severity: "error",
    from: { path: "^(?:cli|server)/" },
    to: {
      path: "^(?:sandbox|upstream|broker/schemas|execution/(?:typescript|python)|host/composition|host/processes)/",
      pathNot: "^(?:sandbox/sandbox-error|upstream/upstream-error)\\.ts$",
    },
  },
  {
    name: "no-cycles",
    comment: "two files that need each other are one idea, or a third file is missing",
    severity: "error",
    from: { path: `^(?:${OURS.join("|")})/` },
    to: { circular: true },
  },
  {
    name: "one-boundary-of-redaction",
    comment:
      "secrets are taken out of texts in the places that secrets/redaction.ts names: hand in what is redacted already, or a function that redacts",
    severity: "error",
    from: {
      path: "^(?:upstream|broker|server|cli)/",
      pathNot: "^upstream/(?:listing/redact-listing|mask-credentials)\\.ts$",
    },
    to: { path: "^secrets/redaction\\.ts$" },
  },
  {
    name: "one-opener-of-archives",
    comment:
      "how runs are kept is one matter, and archive/archive-store.ts the contract: take an ArchiveStore; host/open-archive.ts opens the configured one",
    severity: "error",
    from: {
      path: `^(?:${Object.keys(MAY_IMPORT).join("|")})/`,
      pathNot: "^(?:archive/sqlite/|host/open-archive\\.ts$|host/approvals/pending-approvals\\.ts$)",
    },
    to: { path: "^archive/sqlite/", pathNot: "^archive/sqlite/file/sqlite\\.ts$" },
  },
  {
    name: "one-carrier-of-runs",
    comment: "archive/portable/ is the form of runs in a file: host/run-files.ts reads and writes such files",
    severity: "error",
    from: {
      path: `^(?:${Object.keys(MAY_IMPORT).join("|")})/`,
      pathNot: "^(?:archive/portable/|host/run-files\\.ts$)",
    },
    to: { path: "^archive/portable/" },
  },
  {
    name: "codegen-is-pure",
    comment: "codegen/ turns data into text: let the caller read, fetch and write",
    severity: "error",
    from: { path: "^codegen/" },
    to: { dependencyTypes: ["core"], pathNot: "^(?:node:)?crypto$" },
  },
  {
    name: "protocol-packages",
    comment: "protocol/ ships into the image: it takes zod/mini and Node's own modules, nothing else",
    severity: "error",
    from: { path: "^protocol/" },
    to: { path: "^node_modules/", pathNot: "^node_modules/zod/(?:v4/)?mini/" },
  },
  {
    name: "base-is-bare",
    comment:
      "base/ is what every folder may use: it takes no packages, and of Node's modules none with effects",
    severity: "error",
    // Logins and the audit log, which know nothing of each other, lock files in one way.
    from: { path: "^base/", pathNot: "^base/try-lock-file\\.ts$" },
    to: { dependencyTypesNot: ["local"], pathNot: "^(?:node:)?(?:async_hooks|crypto)$" },
  },
  {
    name: "runner-packages",
    comment: "the runner is one small file: no packages but what protocol/ brings",
    severity: "error",
    from: { path: "^runner-image/" },
    to: { path: "^node_modules/" },
  },
  {
    name: "tests-imports",
    comment: "bench/ may use what tests are made of, not the other way round: move what both need to tests/",
    severity: "error",
    from: { path: "^tests/" },
    to: { path: "^bench/" },
  },
  {
    name: "resolvable",
    comment: "this import leads nowhere",
    severity: "error",
    from: {},
    to: { couldNotResolve: true },
  },
];

export const options: ICruiseOptions = {
  parser: "swc",
  tsPreCompilationDeps: true,
  doNotFollow: { path: "node_modules" },
  enhancedResolveOptions: {
    extensions: [".ts", ".js", ".mjs"],
    conditionNames: ["import", "node", "default"],
    exportsFields: ["exports"],
  },
};
