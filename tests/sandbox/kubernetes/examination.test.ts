import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { RUNNER_STARTS } from "../../../languages/languages.ts";
import { adviseRights, type ClusterNeeds, examineCluster } from "../../../sandbox/kubernetes/examination.ts";
import { Pools } from "../../../sandbox/kubernetes/pools.ts";
import { clusterThatAnswers } from "./fake-api.ts";

const NEEDS: ClusterNeeds = {
  ...{ runtime: "runsc", runners: ["javascript"], limits: { memoryMb: 512, cpus: 1, pids: 256 } },
  ...{ starts: RUNNER_STARTS, isAttached: false },
};
const GROUP = "/apis/extensions.agents.x-k8s.io";

/** What is said of a cluster that answers so, by path; it has nothing else. */
async function examine(answers: Record<string, object>) {
  const api = await clusterThatAnswers((request, response) => {
    const found = answers[request.url ?? ""];
    response.writeHead(found === undefined ? 404 : 200).end(JSON.stringify(found ?? {}));
  });
  const parts = [];
  for await (const part of examineCluster(api, new Pools(api, "ptc"), NEEDS)) parts.push(part);
  return parts;
}

const VERSION = { "/version": { gitVersion: "v1.34.4" } };
const ALLOWED = {
  "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews": { status: { allowed: true } },
  "/apis/authentication.k8s.io/v1/selfsubjectreviews": { status: { userInfo: { username: "ann" } } },
};

test("a cluster without agent-sandbox is told from one with an old one, and from one without its extensions", async () => {
  const versions = (...names: string[]) => ({ versions: names.map((version) => ({ version })) });
  const said = async (more: Record<string, object>) =>
    (await examine({ ...VERSION, ...ALLOWED, ...more })).find(({ part }) => part === "agent-sandbox");
  expect(await said({})).toMatchObject({
    ok: false,
    detail: expect.stringMatching(/has no agent-sandbox.*`kubectl apply -f`.*`kubectl get crd/),
  });
  expect(await said({ [GROUP]: versions("v1alpha1") })).toMatchObject({
    ok: false,
    detail: expect.stringMatching(/serves v1alpha1, and ptc needs v1beta1: `kubectl apply -f` a newer/),
  });
  const resources = { resources: [{ name: "sandboxclaims" }] };
  expect(await said({ [GROUP]: versions("v1beta1"), [`${GROUP}/v1beta1`]: resources })).toMatchObject({
    ok: false,
    detail: expect.stringMatching(/has no sandboxtemplates, sandboxwarmpools/),
  });
});

test("rights are looked at where agent-sandbox is missing, and pools are not", async () => {
  const parts = await examine({ ...VERSION, ...ALLOWED });
  expect(parts.map(({ part, ok }) => [part, ok])).toEqual([
    ["kubernetes", true],
    ["agent-sandbox", false],
    ["rights", true],
  ]);
});

test("each thing that ptc does in the namespace is asked about, and the others are not", async () => {
  const asked: { verb: string; resource: string }[] = [];
  const api = await clusterThatAnswers(async (request, response) => {
    const path = request.url ?? "";
    const body = await text(request);
    const attributes = body === "" ? undefined : JSON.parse(body).spec?.resourceAttributes;
    if (attributes !== undefined) asked.push(attributes);
    // All but two are allowed.
    const allowed = !["watch", "patch"].includes(attributes?.verb);
    const answers: Record<string, object> = {
      ...VERSION,
      ...ALLOWED,
      "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews": { status: { allowed } },
    };
    response.writeHead(answers[path] === undefined ? 404 : 200).end(JSON.stringify(answers[path] ?? {}));
  });
  const rights = async (isAttached: boolean) => {
    asked.length = 0;
    for await (const part of examineCluster(api, new Pools(api, "ptc"), { ...NEEDS, isAttached }))
      if (part.part === "rights") return part;
    return undefined;
  };
  expect(await rights(true)).toEqual({
    ...{ part: "rights", ok: false },
    detail: expect.stringMatching(
      /^ann may not watch, patch sandboxclaims\.extensions\.agents\.x-k8s\.io; patch leases\.coordination\.k8s\.io in the namespace programs: /,
    ),
  });
  const claims = ["create", "get", "list", "watch", "patch", "delete"];
  const of = (group: string, resource: string, verbs: string[], more = {}) =>
    verbs.map((verb) => ({ namespace: "programs", group, resource, verb, ...more }));
  const inGroup = "extensions.agents.x-k8s.io";
  const always = [
    ...of(inGroup, "sandboxclaims", claims),
    ...of(inGroup, "sandboxtemplates", ["get"]),
    ...of(inGroup, "sandboxwarmpools", ["get"]),
    ...of("coordination.k8s.io", "leases", ["create", "get", "list", "patch", "delete"]),
    ...of("", "pods", ["get"]),
  ];
  const sorted = (rows: object[]) => rows.map((row) => JSON.stringify(row, Object.keys(row).sort())).sort();
  const exec = of("", "pods", ["get", "create"], { subresource: "exec" });
  expect(sorted(asked)).toEqual(sorted([...always, ...exec]));
  await rights(false);
  expect(sorted(asked)).toEqual(sorted(always));
});

test("what a user may not do is said as kubectl writes it", () => {
  const denied = [
    { group: "", resource: "pods/exec", verb: "get" },
    { group: "", resource: "pods/exec", verb: "create" },
    { group: "coordination.k8s.io", resource: "leases", verb: "list" },
  ];
  expect(adviseRights("ann", "programs", denied)).toBe(
    "ann may not get, create pods/exec; list leases.coordination.k8s.io in the namespace programs: apply the Role `ptc` of docs/kubernetes.md (the chart has it), then `kubectl create rolebinding ptc --role=ptc --user=ann -n programs`",
  );
});
