import { join } from "node:path";
import { expect, test } from "vitest";
import {
  contentTaggedName,
  doubtAbout,
  type ImageNeeds,
  neededImage,
  readRunnerFiles,
  requireNeeded,
} from "../../../sandbox/image/needed-image.ts";
import { newFolder } from "../../temporary-folder.ts";

const FILES = new Map([["runner.mjs", Buffer.from("the runner")]]);

function needed(more: Partial<ImageNeeds> = {}) {
  return neededImage({
    image: "ptc-runner",
    pythonPackages: [],
    runners: ["javascript"],
    files: FILES,
    ...more,
  });
}

test("the usual image is named by what it is made of, the same for the same needs", () => {
  const { reference } = needed();
  expect(reference).toMatch(contentTaggedName);
  expect(needed().reference).toBe(reference);
  const packages = needed({ pythonPackages: ["pandas", "numpy"] });
  expect(packages.pythonPackages).toEqual(["python3-numpy", "python3-pandas"]);
  for (const same of [
    ["python3-numpy", "pandas"],
    ["numpy", "pandas", "numpy"],
  ])
    expect(needed({ pythonPackages: same }).reference).toBe(packages.reference);
});

test("projects with other packages, languages or runners need other images", () => {
  const others = [
    needed(),
    needed({ runners: ["javascript", "python"] }),
    needed({ pythonPackages: ["numpy"] }),
    needed({ pythonPackages: ["numpy", "pandas"] }),
    needed({ files: new Map([["runner.mjs", Buffer.from("another runner")]]) }),
    needed({ files: new Map([...FILES, ["Dockerfile", Buffer.from("FROM another")]]) }),
  ];
  expect(new Set(others.map(({ reference }) => reference)).size).toBe(others.length);
});

test.each([
  "mine",
  "ptc-runner:latest",
  "registry.example.com/ptc-runner",
  `registry.example.com/ptc-runner@sha256:${"ab".repeat(32)}`,
])("a name of the user's own is taken as it is: %s", (image) => {
  expect(needed({ image }).reference).toBe(image);
});

test("the image of a cluster keeps its name, because the cluster's template says what is in it", () => {
  expect(needed({ files: undefined }).reference).toBe("ptc-runner");
});

test("sources that were not built have no files for an image", () => {
  const folder = newFolder();
  expect(readRunnerFiles(join(folder, "image"), join(folder, "Dockerfile.runner"))).toBeUndefined();
});

const DIGESTED = `registry.example.com/r@sha256:${"ab".repeat(32)}`;

test.each([
  [
    "ptc-runner",
    undefined,
    /^the image ptc-runner:[0-9a-f]{12} \(with python3-numpy, python3-pandas\), which this project needs, is not here; run `ptc image build`$/,
  ],
  [
    "mine",
    undefined,
    /the image mine \(with .*\), .* is not here; run `ptc image build`, or correct sandbox\.image$/,
  ],
  [DIGESTED, undefined, /; pull it, or correct sandbox\.image$/],
  [
    "mine",
    [],
    /^the image mine lacks python3-numpy, python3-pandas, which sandbox\.python_packages names: run `ptc image build`/,
  ],
  ["mine", ["python3-numpy"], /^the image mine lacks python3-pandas, which /],
  [DIGESTED, ["python3-numpy"], /lacks python3-pandas.*: name an image in sandbox\.image that has it$/],
])(
  "an image that is not there, or lacks a package, is named with what to do: %s with %j",
  (image, pythonPackages, message) => {
    const need = needed({ image, pythonPackages: ["pandas", "numpy"] });
    const found = pythonPackages && { digest: "sha256:1", pythonPackages };
    expect(() => requireNeeded(need, found)).toThrow(message);
    expect(() => requireNeeded(need, found)).toThrow(expect.objectContaining({ code: "image_missing" }));
  },
);

test.each([
  ["more than is needed", { pythonPackages: ["python3-numpy", "python3-pandas", "python3-scipy"] }],
  ["nothing about itself", {}],
])("an image fits that says %s", (_, said) => {
  const found = { digest: "sha256:1", ...said };
  const need = needed({ image: "mine", pythonPackages: ["numpy", "pandas"] });
  expect(requireNeeded(need, found)).toBe(found);
});

test("an image with the runner of another version is doubted, and one that says nothing is not", () => {
  const need = needed({ image: "mine" });
  const doubt = (runner: string | undefined) => doubtAbout(need, { digest: "sha256:1", runner });
  expect([doubt(need.runner), doubt(undefined)]).toEqual([undefined, undefined]);
  expect(doubt("sha256:other")).toBe("has the runner of another version of ptc: run `ptc image build`");
});
