import type { ImageContents } from "../sandbox-engine.ts";

/** The label with the digest of an image's content. */
export const CONTENT_LABEL = "dev.ptc.runner";

/** The labels of Dockerfile.runner, and the build arguments that set them. */
const LABELS = [
  { label: CONTENT_LABEL, argument: "RUNNER_DIGEST", part: "content" },
  { label: "dev.ptc.files", argument: "FILES_DIGEST", part: "runner" },
  { label: "dev.ptc.base", argument: "BASE_NAME", part: "base" },
] as const;
const PACKAGES = { label: "dev.ptc.python-packages", argument: "PYTHON_PACKAGES" };

/** What stands in a label of an image that was built without ptc. */
const UNKNOWN = "unknown";

/** The build arguments by which an image says what is in it. */
export function buildArguments(contents: ImageContents): Record<string, string> {
  const { pythonPackages } = contents;
  return Object.fromEntries([
    ...LABELS.map(({ argument, part }) => [argument, contents[part] ?? UNKNOWN]),
    [PACKAGES.argument, pythonPackages?.join(",") ?? UNKNOWN],
  ]);
}

/** What an image says of itself. The labels are anybody's, so a part that has an unexpected form is undefined. */
export function readLabels(labels: Readonly<Record<string, string>> | null | undefined): ImageContents {
  const read = (label: string) => {
    const value = labels?.[label];
    return value === UNKNOWN ? undefined : value;
  };
  const [content, runner, base] = LABELS.map(({ label }) => read(label));
  const packages = read(PACKAGES.label);
  return { content, runner, base, pythonPackages: packages?.split(",").filter((name) => name !== "") };
}
