import { expect, test } from "vitest";
import { clusterThatAnswers } from "./fake-api.ts";

test("a request that an API server refuses because it has not read its roles yet is sent again", async () => {
  const statuses = [403, 403, 200];
  const api = await clusterThatAnswers((_, response) => {
    response
      .writeHead(statuses.shift() ?? 500)
      .end('{"message":"pods is forbidden","items":[],"metadata":{}}');
  });
  expect(await api.list("/api/v1/namespaces/programs/pods", "a=b")).toEqual([]);
  expect(statuses).toEqual([]);
});

test("a right that is lacking is told after some seconds, and at once where nobody would wait", async () => {
  let asked = 0;
  const api = await clusterThatAnswers((_, response) => {
    asked++;
    response.writeHead(403).end('{"message":"pods is forbidden"}');
  });
  const path = "/api/v1/namespaces/programs/pods";
  await expect(api.request({ path, isPatient: false })).rejects.toMatchObject({ status: 403 });
  expect(asked).toBe(1);
  await expect(api.request({ path })).rejects.toMatchObject({ status: 403, message: "pods is forbidden" });
  expect(asked).toBeGreaterThan(3);
});
