import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { DockerImageStore, type DockerImages } from "../../../sandbox/docker/docker-image-store.ts";
import type { ImageRequest } from "../../../sandbox/sandbox-engine.ts";

const image = { Id: "sha256:1", Config: { Labels: { "dev.ptc.runner": "sha256:2" } } };

function fakeDocker(overrides: Partial<DockerImages>): DockerImages {
  const unexpected = () => Promise.reject(new Error("not expected"));
  return {
    getImage: () => ({
      ...{ inspect: async () => image, history: unexpected, remove: unexpected, tag: unexpected },
    }),
    listImages: unexpected,
    pull: unexpected,
    buildImage: unexpected,
    importImage: unexpected,
    ...overrides,
  };
}

function failingInspect(error: object): Partial<DockerImages> {
  const fail = () => Promise.reject(error);
  return { getImage: () => ({ inspect: fail, history: fail, remove: fail, tag: fail }) };
}

const FILES = new Map([
  ["Dockerfile", Buffer.from("FROM ${BASE}")],
  ["python/inner/main.py", Buffer.from("a runner")],
]);
const build: ImageRequest = {
  ...{ reference: "x", base: "the-base", files: FILES, onProgress: () => {} },
  contents: {
    content: "sha256:2",
    runner: "sha256:3",
    base: "the-base",
    pythonPackages: ["python3-a", "python3-b"],
  },
};

test("an image is its digest and that of its content, and has none where others made it", async () => {
  const store = (inspect: () => Promise<object>) =>
    new DockerImageStore(
      fakeDocker({ getImage: () => ({ inspect, history: inspect, remove: inspect }) as never }),
    );
  expect(await store(async () => image).inspect("x")).toEqual({ digest: "sha256:1", content: "sha256:2" });
  for (const Config of [{ Labels: { a: "b" } }, { Labels: null }, undefined])
    expect(await store(async () => ({ Id: "sha256:3", Config })).inspect("x")).toEqual({
      digest: "sha256:3",
      content: undefined,
    });
});

test("what an image says of its content is read from its labels, and an image of the Dockerfile alone says nothing", async () => {
  const inspected = (labels: Record<string, string>) =>
    new DockerImageStore(
      fakeDocker({
        getImage: () => ({ inspect: async () => ({ Id: "sha256:1", Config: { Labels: labels } }) }) as never,
      }),
    ).inspect("x");
  const labels = ["runner", "files", "base", "python-packages"].map((name) => `dev.ptc.${name}`);
  const [content = "", runner = "", base = "", packages = ""] = labels;
  const said = { [content]: "sha256:2", [runner]: "sha256:3", [base]: "node:24-slim" };
  const image = { digest: "sha256:1", content: "sha256:2", runner: "sha256:3", base: "node:24-slim" };
  expect(await inspected({ ...said, [packages]: "python3-a,python3-b" })).toEqual({
    ...image,
    pythonPackages: ["python3-a", "python3-b"],
  });
  expect(await inspected({ ...said, [packages]: "" })).toEqual({ ...image, pythonPackages: [] });
  expect(await inspected(Object.fromEntries(labels.map((label) => [label, "unknown"])))).toEqual({
    digest: "sha256:1",
  });
});

test("an image is given a name more, with the tag `latest` if it has none", async () => {
  const tagged: object[] = [];
  const docker = fakeDocker({
    listImages: async () => [],
    getImage: (reference) =>
      ({ tag: async (options: object) => void tagged.push({ reference, ...options }) }) as never,
  });
  const store = new DockerImageStore(docker);
  for (const name of ["ptc-runner", "a:1", "host:5000/a"]) await store.tag("sha256:1", name);
  const reference = "sha256:1";
  expect(tagged).toEqual([
    { reference, repo: "ptc-runner", tag: "latest" },
    { reference, repo: "a", tag: "1" },
    { reference, repo: "host:5000/a", tag: "latest" },
  ]);
});

test("a build gets its files, its base and the digest of its content, and no network", async () => {
  let asked: unknown;
  let tar = "";
  const buildImage: DockerImages["buildImage"] = async (context, options) => {
    asked = options;
    tar = await text(context);
    return Readable.from([]);
  };
  expect(await new DockerImageStore(fakeDocker({ buildImage })).build(build)).toMatchObject({
    digest: "sha256:1",
  });
  expect(asked).toEqual({
    t: "x",
    buildargs: {
      BASE: "the-base",
      ...{ RUNNER_DIGEST: "sha256:2", FILES_DIGEST: "sha256:3" },
      ...{ BASE_NAME: "the-base", PYTHON_PACKAGES: "python3-a,python3-b" },
    },
    ...{ networkmode: "none", rm: true, forcerm: true },
  });
  for (const part of ["./Dockerfile", "FROM ${BASE}", "./python/inner/main.py", "a runner"])
    expect(tar).toContain(part);
});

test("an image that is not there is undefined, and an engine that is not there is an error", async () => {
  const without = new DockerImageStore(
    fakeDocker(failingInspect(Object.assign(new Error("gone"), { statusCode: 404 }))),
  );
  expect(await without.inspect("x")).toBeUndefined();
  const dead = new DockerImageStore(fakeDocker(failingInspect(new Error("connect ENOENT"))));
  await expect(dead.inspect("x")).rejects.toMatchObject({
    code: "engine_unreachable",
    message: /connect ENOENT/,
  });
});

test("an error that Docker reports in the middle of a build is not taken for success", async () => {
  const events = async () => Readable.from(['{"stream":"Step 1"}\n{"err', 'or":"no space left"}\n']);
  const store = new DockerImageStore(fakeDocker({ buildImage: events }));
  await expect(store.build(build)).rejects.toMatchObject({
    code: "build_failed",
    message: /x could not be built: no space left/,
  });
});

test("progress is told line by line, however the stream is cut", async () => {
  const text = '{"stream":"Step 1\\n"}\r\n{"stream":"\\n"}\n{"status":"Pulling é"}\n{"aux":{"ID":"1"}}\n';
  const bytes = Buffer.from(text);
  const events = async () => Readable.from(Array.from(bytes, (_, index) => bytes.subarray(index, index + 1)));
  const lines: string[] = [];
  await new DockerImageStore(fakeDocker({ buildImage: events })).build({
    ...build,
    onProgress: (line) => lines.push(line),
  });
  expect(lines).toEqual(["Step 1", "Pulling é"]);
});

test("a registry that says nothing is given up", async () => {
  const pull: DockerImages["pull"] = (_reference, options) =>
    new Promise((_resolve, reject) => {
      const { abortSignal } = options as { abortSignal: AbortSignal };
      abortSignal.addEventListener("abort", () => reject(new Error("aborted")));
    });
  const store = new DockerImageStore(fakeDocker({ pull }), 10);
  await expect(store.pull("far/away:1", () => {})).rejects.toMatchObject({
    code: "base_unavailable",
    message: "far/away:1 could not be fetched: no registry answered",
  });
});

test("a registry that has answered may take its time", async () => {
  const pull: DockerImages["pull"] = async (_reference, options) =>
    Readable.from(
      (async function* () {
        await delay(50);
        yield `{"error":${(options as { abortSignal: AbortSignal }).abortSignal.aborted ? '"aborted"' : "null"}}\n`;
      })(),
    );
  expect(await new DockerImageStore(fakeDocker({ pull }), 1).pull("x", () => {})).toMatchObject({
    digest: "sha256:1",
  });
});

test("a registry that refuses is given up with its reason", async () => {
  const store = new DockerImageStore(fakeDocker({ pull: () => Promise.reject(new Error("no such host")) }));
  await expect(store.pull("x", () => {})).rejects.toMatchObject({
    code: "base_unavailable",
    message: /no such host/,
  });
});

test("a build removes ptc's nameless images, but not those that a container uses or a build may be making", async () => {
  const nowSeconds = Date.now() / 1000;
  const tried: string[] = [];
  const docker = fakeDocker({
    buildImage: async () => Readable.from([]),
    listImages: async (options) => {
      expect(options).toEqual({ filters: { dangling: ["true"], label: ["dev.ptc.runner"] } });
      return [
        { Id: "used", Created: nowSeconds - 3_600, Size: 1 },
        { Id: "old", Created: nowSeconds - 3_600, Size: 1 },
        { Id: "in the making", Created: nowSeconds - 5, Size: 1 },
      ];
    },
    getImage: (reference) => ({
      inspect: async () => image,
      history: async () => [],
      tag: async () => {},
      remove: async () => {
        tried.push(reference);
        if (reference === "used") throw Object.assign(new Error("conflict"), { statusCode: 409 });
      },
    }),
  });
  await new DockerImageStore(docker).build(build);
  expect(tried).toEqual(["used", "old"]);
});

test("images are listed by their names with their sizes, each once, but not those that others made on them, and one that has gone is removed already", async () => {
  const gone = Object.assign(new Error("no such image"), { statusCode: 404 });
  const used = Object.assign(new Error("conflict"), { statusCode: 409 });
  const base = "ptc-base:debian-12-node24.21.0-0123456789ab";
  const steps: Record<string, string[]> = {
    "sha256:4": ["RUN theirs", 'CMD ["node", "/opt/ptc/runner.mjs"]'],
    "sha256:5": ["imported"],
    "sha256:6": ["RUN theirs", "imported"],
  };
  const docker = fakeDocker({
    listImages: async (options) =>
      JSON.stringify(options) === '{"filters":{"label":["dev.ptc.runner"]}}'
        ? [
            {
              Id: "sha256:1",
              Created: 1,
              Size: 20,
              RepoTags: ["a:1", "b:1"],
              Labels: { "dev.ptc.base": base },
            },
            { Id: "sha256:2", Created: 1, Size: 5 },
            { Id: "sha256:3", Created: 1, Size: 6, RepoTags: ["<none>:<none>"] },
            { Id: "sha256:4", Created: 1, Size: 9, RepoTags: ["built-on-ours:1"] },
          ]
        : [
            { Id: "sha256:5", Created: 1, Size: 30, RepoTags: [base, "ptc-base:mine"] },
            { Id: "sha256:6", Created: 1, Size: 40, RepoTags: [base.replace("ab", "cd")] },
          ],
    getImage: (reference) => ({
      inspect: async () => image,
      history: async () =>
        (steps[reference] ?? ['CMD ["node", "/opt/ptc/runner.mjs"]', "RUN x"]).map((CreatedBy) => ({
          CreatedBy,
        })),
      tag: async () => {},
      remove: () => Promise.reject(reference === "gone" ? gone : used),
    }),
  });
  const store = new DockerImageStore(docker);
  expect(await store.listOwn()).toEqual([
    { reference: "a:1", bytes: 20, base },
    { reference: "b:1", bytes: 20, base },
    { reference: "sha256:2", bytes: 5 },
    { reference: "sha256:3", bytes: 6 },
    { reference: base, bytes: 30 },
  ]);
  await store.remove("gone");
  await expect(store.remove("used")).rejects.toThrow();
});
