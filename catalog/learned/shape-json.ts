import * as z from "zod";
import { byCodeUnit } from "../../base/by-code-unit.ts";
import { MAX_CHOICES, MAX_MEMBERS, type Shape } from "./shape.ts";

const Count = z.int().min(0);

/** A shape as JSON. Members are pairs, because any text can be a name. */
export interface ShapeJson {
  seen: number;
  any?: true | undefined;
  null?: true | undefined;
  boolean?: true | undefined;
  number?: "integer" | "number" | undefined;
  string?: { format: string; choices?: string[] | undefined } | undefined;
  items?: ShapeJson | undefined;
  object?:
    | { seen: number; members: [string, ShapeJson][]; rest?: ShapeJson | undefined; map?: true | undefined }
    | undefined;
}

export const ShapeJson: z.ZodType<ShapeJson> = z.lazy(() =>
  z.strictObject({
    seen: Count,
    any: z.literal(true).optional(),
    null: z.literal(true).optional(),
    boolean: z.literal(true).optional(),
    number: z.enum(["integer", "number"]).optional(),
    string: z
      .strictObject({
        format: z.string().regex(/^[a-z-]{1,20}$/),
        choices: z.array(z.string().max(64)).max(MAX_CHOICES).optional(),
      })
      .optional(),
    items: ShapeJson.optional(),
    object: z
      .strictObject({
        seen: Count,
        members: z.array(z.tuple([z.string().max(64), ShapeJson])).max(MAX_MEMBERS),
        rest: ShapeJson.optional(),
        map: z.literal(true).optional(),
      })
      .optional(),
  }),
);

/** The JSON of a shape, the same whatever order its members were seen in. */
export function shapeToJson(shape: Shape): ShapeJson {
  const { seen, isAny, isNull, isBoolean, number, string, items, object } = shape;
  return {
    seen,
    ...(isAny && { any: true }),
    ...(isNull && { null: true }),
    ...(isBoolean && { boolean: true }),
    ...(number && { number }),
    ...(string && {
      string: { format: string.format, ...(string.choices && { choices: [...string.choices] }) },
    }),
    ...(items && { items: shapeToJson(items) }),
    ...(object && {
      object: {
        seen: object.seen,
        members: [...object.members]
          .sort(([a], [b]) => byCodeUnit(a, b))
          .map(([name, each]): [string, ShapeJson] => [name, shapeToJson(each)]),
        ...(object.rest && { rest: shapeToJson(object.rest) }),
        ...(object.isMap && { map: true }),
      },
    }),
  };
}

export function shapeFromJson(json: ShapeJson): Shape {
  const { seen, number, string, items, object } = json;
  return {
    seen,
    ...(json.any && { isAny: true }),
    ...(json.null && { isNull: true }),
    ...(json.boolean && { isBoolean: true }),
    ...(number && { number }),
    ...(string && { string: { format: string.format, ...(string.choices && { choices: string.choices }) } }),
    ...(items && { items: shapeFromJson(items) }),
    ...(object && {
      object: {
        seen: object.seen,
        members: new Map(object.members.map(([name, each]) => [name, shapeFromJson(each)])),
        ...(object.rest && { rest: shapeFromJson(object.rest) }),
        ...(object.map && { isMap: true }),
      },
    }),
  };
}
