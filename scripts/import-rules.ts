/** Who may import what. Each comment says what to do instead. */
import type { ICruiseOptions, IForbiddenRuleType } from "dependency-cruiser";

/** Folders of ours that a folder may import, besides itself. Each stands below those that import it. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  base: [],
  protocol: ["base"],
  system: ["base", "protocol"],
  secrets: ["base", "protocol"],
  catalog: ["base", "protocol"],
  codegen: ["base", "protocol", "catalog"],
  "runner-image": ["base", "protocol"],
  upstream: ["base", "protocol", "system", "secrets"],
  broker: ["base", "protocol", "system", "catalog", "upstream"],
  sandbox: ["base", "protocol"],
  archive: ["base", "protocol", "system"],
  telemetry: ["base", "protocol", "system", "broker"],
  languages: ["base", "protocol", "secrets", "codegen"],
  configuration: [
    "base",
    "protocol",
    "system",
    "secrets",
    "catalog",
    "upstream",
    "broker",
    "sandbox",
    "languages",
  ],
  storage: ["base", "protocol", "system", "secrets", "upstream", "configuration", "archive"],
  logins: ["base", "protocol", "system", "secrets", "upstream", "configuration", "archive", "storage"],
  identity: ["base", "protocol", "system", "upstream", "configuration", "archive", "storage"],
  execution: [
    "base",
    "protocol",
    "system",
    "secrets",
    "catalog",
    "codegen",
    "upstream",
    "broker",
    "sandbox",
    "archive",
    "telemetry",
    "languages",
    "configuration",
    "storage",
  ],
  programs: [
    "base",
    "protocol",
    "system",
    "catalog",
    "codegen",
    "upstream",
    "broker",
    "languages",
    "configuration",
    "execution",
  ],
  generation: [
    "base",
    "protocol",
    "system",
    "catalog",
    "codegen",
    "upstream",
    "archive",
    "languages",
    "configuration",
    "storage",
    "execution",
    "programs",
  ],
  tools: [
    "base",
    "protocol",
    "system",
    "catalog",
    "codegen",
    "upstream",
    "broker",
    "languages",
    "configuration",
    "logins",
    "programs",
    "generation",
  ],
  wiring: [
    "base",
    "protocol",
    "system",
    "secrets",
    "catalog",
    "upstream",
    "broker",
    "sandbox",
    "archive",
    "telemetry",
    "languages",
    "configuration",
    "storage",
    "logins",
    "execution",
    "generation",
    "tools",
  ],
  server: [
    "base",
    "protocol",
    "system",
    "catalog",
    "codegen",
    "broker",
    "archive",
    "telemetry",
    "languages",
    "identity",
    "execution",
    "tools",
  ],
  cli: [
    "base",
    "protocol",
    "system",
    "secrets",
    "catalog",
    "codegen",
    "upstream",
    "broker",
    "sandbox",
    "archive",
    "telemetry",
    "languages",
    "configuration",
    "storage",
    "logins",
    "identity",
    "execution",
    "programs",
    "generation",
    "tools",
    "wiring",
    "server",
  ],
};

/** Every folder that the rules are about. */
export const FOLDERS: readonly string[] = Object.keys(MAY_IMPORT);

const OURS = [...FOLDERS, "generated", "tests", "bench", "scripts", "examples"];

/** Packages that only these files and folders may import. */
const SINGLE_IMPORTER = {
  "@cedar-policy/cedar-wasm": "broker/policy/cedar/cedar-engine.ts",
  "@napi-rs/keyring": "secrets/keyring.ts",
  "@opentelemetry": "telemetry/opentelemetry/",
  "ipaddr.js": "upstream/authorization/guarded-fetch.ts",
  jose: "identity/",
  oauth4webapi: "identity/issuer.ts",
  undici: "system/outgoing.ts",
  dockerode: "sandbox/docker/",
  esbuild: "languages/typescript/bundling/bundler.ts",
  "json-schema-to-typescript": "codegen/typescript/print-types.ts",
  "@modelcontextprotocol/client": ["upstream/mcp/", "upstream/authorization/oauth/"],
  "@modelcontextprotocol/server": ["server/mcp/mcp-server.ts", "server/http/"],
  "@modelcontextprotocol/node": "server/http/http-server.ts",
  pg: "archive/postgres/database.ts",
  typescript: "languages/typescript/typescript-api.ts",
};

const folderRules = Object.entries(MAY_IMPORT).map(([folder, allowed]) => ({
  name: `${folder}-imports`,
  comment: `${folder}/ may import ${allowed.map((each) => `${each}/`).join(", ") || "nothing"} of ours: hand in what it needs through an interface that wiring/ fills`,
  severity: "error" as const,
  from: { path: `^${folder}/` },
  to: { path: `^(?:${OURS.filter((each) => each !== folder && !allowed.includes(each)).join("|")})/` },
}));

const packageRules = Object.entries(SINGLE_IMPORTER).map(([name, files]) => ({
  name: `one-importer-of-${name}`,
  comment: `only ${[files].flat().join(" and ")} imports ${name}: use what is exported there`,
  severity: "error" as const,
  from: {
    path: `^(?:${Object.keys(MAY_IMPORT).join("|")})/`,
    pathNot: [files].flat().map((file) => (file.endsWith("/") ? `^${file}` : `^${file}$`)),
  },
  to: { path: `^node_modules/${name}/` },
}));

/** Folders that know one language. Everybody else has what they make handed in. */
const LANGUAGES = ["typescript", "python"];

const languageRules = LANGUAGES.flatMap((language) => [
  {
    name: `codegen-${language}-importers`,
    comment: `only languages/${language}/ imports codegen/${language}/: take a LanguagePrinter (codegen/language-printer.ts)`,
    severity: "error" as const,
    from: { path: `^(?:${FOLDERS.join("|")})/`, pathNot: `^(?:codegen|languages)/${language}/` },
    to: { path: `^codegen/${language}/` },
  },
  {
    name: `languages-${language}-importers`,
    comment: `only languages/languages.ts imports languages/${language}/: it finds and opens languages for everybody`,
    severity: "error" as const,
    from: { path: `^(?:${FOLDERS.join("|")})/`, pathNot: `^languages/(?:${language}/|languages\\.ts$)` },
    to: { path: `^languages/${language}/` },
  },
]);

export const forbidden: IForbiddenRuleType[] = [
  ...folderRules,
  ...packageRules,
  ...languageRules,
  {
    name: "docker-is-one-engine",
    comment: "only wiring/engine.ts chooses an engine: use the contract in sandbox/sandbox-engine.ts",
    severity: "error",
    from: { path: `^(?:${FOLDERS.join("|")})/`, pathNot: "^(?:wiring/engine\\.ts$|sandbox/docker/)" },
    to: { path: "^sandbox/docker/" },
  },
  {
    name: "wiring-hides-engines",
    comment:
      "commands and servers see no engine, and no MCP server, but their errors: ask Host, or what else wiring/ has",
    severity: "error",
    from: { path: "^(?:cli|server)/", pathNot: "^cli/doctor/" },
    to: {
      path: "^(?:sandbox|upstream)/",
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
      pathNot: "^(?:upstream/redact-connection\\.ts$|cli/doctor/|cli/commands/programs/)",
    },
    to: { path: "^secrets/redaction\\.ts$" },
  },
  {
    name: "one-opener-of-archives",
    comment:
      "how runs are kept is one matter, and archive/archive-store.ts the contract: take an ArchiveStore; storage/storage.ts opens the configured one",
    severity: "error",
    from: {
      path: `^(?:${Object.keys(MAY_IMPORT).join("|")})/`,
      pathNot: "^(?:archive/(?:sqlite|postgres)/|archive/open-archive\\.ts$)",
    },
    to: { path: "^archive/(?:sqlite|postgres)/", pathNot: "^archive/sqlite/sqlite\\.ts$" },
  },
  {
    name: "one-carrier-of-runs",
    comment:
      "archive/portable/ is the form of runs in a file: archive/portable/run-files.ts reads and writes such files",
    severity: "error",
    from: {
      path: `^(?:${Object.keys(MAY_IMPORT).join("|")})/`,
      pathNot: "^archive/portable/",
    },
    to: { path: "^archive/portable/", pathNot: "^archive/portable/run-files\\.ts$" },
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
    from: { path: "^base/" },
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
