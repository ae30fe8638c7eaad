// node validate.mjs < objects.yaml: checks objects that kustomize printed against
// the schemas of Kubernetes, of the Prometheus operator and of KEDA. The schemas check
// values. Types made from them check names of fields, which schemas leave open.

import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseAllDocuments } from "yaml";

const FOLDER = import.meta.dirname;

function moduleOf({ apiVersion, kind }) {
  const operators = {
    "monitoring.coreos.com": "@kubernetes-models/prometheus-operator",
    "keda.sh": "@kubernetes-models/keda",
  };
  const models = operators[apiVersion.split("/")[0]] ?? "kubernetes-models";
  return `${models}/${apiVersion}/${kind}`;
}

const nameOf = ({ kind, metadata }) => `${kind} ${metadata.name}`;

// Returns errors by the schemas.
async function checkValues(objects) {
  const errors = [];
  for (const object of objects) {
    const { [object.kind]: Model } = await import(moduleOf(object));
    try {
      new Model(object).validate();
    } catch (error) {
      errors.push(`${nameOf(object)}: ${error.message}`);
    }
  }
  return errors;
}

// Returns errors of the compiler; each is in the line of its object.
function checkTypes(objects) {
  // In this folder, so that the compiler finds the types.
  const folder = mkdtempSync(join(FOLDER, "node_modules", ".objects-"));
  const file = join(folder, "objects.ts");
  writeFileSync(file, objects.map((object, i) =>
    `import { I${object.kind} as T${i} } from "${moduleOf(object)}"; ` +
    `export const o${i}: T${i} = ${JSON.stringify(object)};`).join("\n"));
  try {
    execFileSync(join(FOLDER, "node_modules/.bin/tsc"),
      ["--noEmit", "--strict", "--skipLibCheck", "--module", "nodenext",
        "--moduleResolution", "nodenext", "--types", "", file],
      { encoding: "utf8" });
    return [];
  } catch (error) {
    return error.stdout.split("\n").filter((line) => line !== "").map((line) =>
      line.replace(/^.*objects\.ts\((\d+),\d+\)/,
        (_, number) => nameOf(objects[number - 1])));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const objects = parseAllDocuments(readFileSync(0, "utf8"))
  .map((document) => document.toJS());
const errors = [...await checkValues(objects), ...checkTypes(objects)];
for (const error of errors) console.error(error);
console.log(`${objects.length} objects, ${errors.length} errors`);
process.exit(errors.length > 0 ? 1 : 0);
