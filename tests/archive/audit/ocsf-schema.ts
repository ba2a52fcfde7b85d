import * as z from "zod";

/**
 * What OCSF 1.6.0 (https://schema.ocsf.io/1.6.0) says of the classes API Activity (6003) and Authentication (3002), of their
 * objects and of the profiles `security_control` and `host`, as far as ptc uses them: names, types, values, and what is required. Kept by hand.
 * An attribute that is not here is refused, because a class takes no others.
 */

const text = z.string().min(1);
const count = z.int().min(0);
const named = z.strictObject({ name: text });
const group = z.strictObject({ name: text });
const user = z.strictObject({
  name: text,
  uid: text.optional(),
  full_name: text.optional(),
  groups: z.array(group).optional(),
});
const actor = z.strictObject({ user, app_name: text.optional() });
const endpoint = z.strictObject({ name: text, hostname: text.optional() });

const metadata = z.strictObject({
  version: z.literal("1.6.0"),
  product: z.strictObject({ name: text, vendor_name: text.optional(), version: text.optional() }),
  profiles: z.array(z.enum(["security_control", "host"])).optional(),
  sequence: count.optional(),
  correlation_uid: text.optional(),
});

const base = {
  class_name: text.optional(),
  category_name: text.optional(),
  activity_name: text.optional(),
  type_uid: count,
  time: z.int().min(Date.UTC(2000)),
  severity_id: z.union([z.int().min(0).max(6), z.literal(99)]),
  status_id: z.literal([0, 1, 2, 99]).optional(),
  status_detail: text.optional(),
  duration: count.optional(),
  metadata,
  device: z
    .strictObject({ hostname: text, type_id: z.union([z.int().min(0).max(15), z.literal(99)]) })
    .optional(),
  unmapped: z.record(z.string(), z.unknown()).optional(),
};

const securityControl = {
  action_id: z.literal([0, 1, 2, 3, 4]).optional(),
  disposition_id: z.int().min(0).max(27).optional(),
  policy: z.strictObject({ name: text, desc: text.optional() }).optional(),
};

const ApiActivity = z.strictObject({
  ...base,
  ...securityControl,
  class_uid: z.literal(6003),
  category_uid: z.literal(6),
  activity_id: z.literal([0, 1, 2, 3, 4, 99]),
  actor,
  api: z.strictObject({
    operation: text,
    service: named.optional(),
    request: z.strictObject({ uid: text }).optional(),
  }),
  src_endpoint: endpoint,
});

const Authentication = z.strictObject({
  ...base,
  ...securityControl,
  class_uid: z.literal(3002),
  category_uid: z.literal(3),
  activity_id: z.literal([0, 1, 2, 3, 4, 5, 6, 7, 99]),
  user,
  actor: actor.optional(),
  src_endpoint: endpoint.optional(),
  // Or `dst_endpoint`: at least one of them.
  service: named,
});

export const OcsfEvent = z
  .discriminatedUnion("class_uid", [ApiActivity, Authentication])
  .refine((event) => event.type_uid === event.class_uid * 100 + event.activity_id, "type_uid")
  .refine(
    (event) =>
      event.metadata.profiles?.includes("security_control") === true ||
      Object.keys(securityControl).every((name) => !Object.hasOwn(event, name)),
    "attributes of a profile that is not named",
  )
  .refine(
    (event) => (event.device !== undefined) === (event.metadata.profiles?.includes("host") === true),
    "a device without its profile",
  )
  .refine((event) => event.activity_id !== 99 || event.activity_name !== undefined, "activity_name");
