/** The findings of pyright that may mean that a program fails when it runs. */
const ASKED = [
  "reportArgumentType",
  "reportAttributeAccessIssue",
  "reportCallIssue",
  "reportGeneralTypeIssues",
  "reportIndexIssue",
  "reportMissingImports",
  "reportOperatorIssue",
  "reportTypedDictNotRequiredAccess",
  "reportUndefinedVariable",
  "reportUnusedCoroutine",
];

/** The settings of pyright for programs: those of the runner's Python, and nothing but what is asked for. */
export const CHECK_SETTINGS: Readonly<Record<string, unknown>> = {
  typeCheckingMode: "off",
  pythonVersion: "3.11",
  pythonPlatform: "Linux",
  useLibraryCodeForTypes: false,
  enableTypeIgnoreComments: true,
  ...Object.fromEntries(ASKED.map((rule) => [rule, "error"])),
};
