import { Readable } from "node:stream";
import { expect, test } from "vitest";
import { DockerImageStore, type DockerImages } from "../../../sandbox/docker/docker-image-store.ts";

const image = { Id: "sha256:1", Config: { Labels: { a: "b" } } };

function fakeDocker(overrides: Partial<DockerImages>): DockerImages {
  const unexpected = () => Promise.reject(new Error("not expected"));
  return {
    getImage: () => ({ inspect: async () => image, history: unexpected, remove: unexpected }),
    listImages: unexpected,
    pull: unexpected,
    buildImage: unexpected,
    importImage: unexpected,
    ...overrides,
  };
}

function failingInspect(error: object): Partial<DockerImages> {
  const fail = () => Promise.reject(error);
  return { getImage: () => ({ inspect: fail, history: fail, remove: fail }) };
}

const build = { context: Readable.from([]), reference: "x", buildArgs: {}, onProgress: () => {} };

test("an image is its digest and its labels", async () => {
  expect(await new DockerImageStore(fakeDocker({})).inspect("x")).toEqual({
    digest: "sha256:1",
    labels: { a: "b" },
  });
});

test("an image that is not there is undefined, and an engine that is not there is an error", async () => {
  const without = new DockerImageStore(fakeDocker(failingInspect({ statusCode: 404 })));
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

test("a registry that refuses is given up with its reason", async () => {
  const store = new DockerImageStore(fakeDocker({ pull: () => Promise.reject(new Error("no such host")) }));
  await expect(store.pull("x", () => {})).rejects.toMatchObject({
    code: "base_unavailable",
    message: /no such host/,
  });
});

test("images without a name are removed, but not those that a container uses or a build may be making", async () => {
  const nowSeconds = Date.now() / 1000;
  const tried: string[] = [];
  const docker = fakeDocker({
    listImages: async (options) => {
      expect(options).toEqual({ filters: { dangling: ["true"], label: ["ours"] } });
      return [
        { Id: "used", Created: nowSeconds - 3_600, Size: 1 },
        { Id: "old", Created: nowSeconds - 3_600, Size: 1 },
        { Id: "in the making", Created: nowSeconds - 5, Size: 1 },
      ];
    },
    getImage: (reference) => ({
      inspect: async () => image,
      history: async () => [],
      remove: async () => {
        tried.push(reference);
        if (reference === "used") throw Object.assign(new Error("conflict"), { statusCode: 409 });
      },
    }),
  });
  await new DockerImageStore(docker).removeNameless("ours");
  expect(tried).toEqual(["used", "old"]);
  await new DockerImageStore(fakeDocker({})).removeNameless("ours");
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
            { Id: "sha256:1", Created: 1, Size: 20, RepoTags: ["a:1", "b:1"] },
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
      remove: () => Promise.reject(reference === "gone" ? gone : used),
    }),
  });
  const store = new DockerImageStore(docker);
  expect(await store.listOwn()).toEqual([
    { reference: "a:1", bytes: 20 },
    { reference: "b:1", bytes: 20 },
    { reference: "sha256:2", bytes: 5 },
    { reference: "sha256:3", bytes: 6 },
    { reference: base, bytes: 30 },
  ]);
  await store.remove("gone");
  await expect(store.remove("used")).rejects.toThrow();
});
