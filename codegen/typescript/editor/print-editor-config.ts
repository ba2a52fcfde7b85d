import { NODE_FILE } from "./node-declarations.ts";

/**
 * `tsconfig.json` in the output folder. It reads programs beside that folder as ptc does: what they import from `./servers/`
 * is in the output folder, and the check is as lenient as ptc's own.
 */
export const EDITOR_CONFIG = `/** How editors read programs beside ptc.yaml. Written by \`ptc generate\`: edits are lost. */
${JSON.stringify(
  {
    compilerOptions: {
      target: "esnext",
      lib: ["esnext"],
      module: "preserve",
      moduleResolution: "bundler",
      moduleDetection: "force",
      allowImportingTsExtensions: true,
      allowJs: true,
      // The last leads from a program beside ptc.yaml to the module of saved programs, which is in a root of its own.
      rootDirs: ["..", ".", "../programs", "./programs"],
      paths: { "servers/*": ["./servers/*"] },
      types: [],
      strict: false,
      skipLibCheck: true,
      noEmit: true,
    },
    include: [
      "../*.ts",
      "../*.mts",
      "../*.js",
      "../*.mjs",
      "../programs/*.ts",
      "../programs/*.js",
      "./*.d.ts",
      `./${NODE_FILE}`,
      "./servers/**/*.ts",
    ],
  },
  null,
  2,
)}
`;
