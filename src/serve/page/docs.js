// Adds to a page that is complete without it: a filter, and a form for each operation that sends it.
"use strict";

const element = (name, attributes = {}, ...children) => {
  const made = Object.assign(document.createElement(name), attributes);
  made.append(...children);
  return made;
};

const token = element("input", { type: "password", placeholder: "token", autocomplete: "off" });
const filter = element("input", { type: "search", placeholder: "filter" });
filter.addEventListener("input", () => {
  const wanted = filter.value.toLowerCase();
  for (const each of document.querySelectorAll("details.operation"))
    each.hidden = !each.querySelector("summary").textContent.toLowerCase().includes(wanted);
});
document.getElementById("tools").append(filter, token);

const send = async (operation, fields, body, shown) => {
  let path = operation.dataset.path;
  const query = new URLSearchParams();
  for (const [name, input] of fields) {
    if (path.includes(`{${name}}`)) path = path.replace(`{${name}}`, encodeURIComponent(input.value));
    else if (input.value !== "") query.set(name, input.value);
  }
  const headers = {};
  if (token.value !== "") headers.Authorization = `Bearer ${token.value}`;
  if (body) headers["Content-Type"] = "application/json";
  shown.textContent = "…";
  try {
    const answer = await fetch(query.size > 0 ? `${path}?${query}` : path, {
      method: operation.dataset.method,
      headers,
      body: body ? body.value : undefined,
    });
    const text = await answer.text();
    let pretty = text;
    try {
      pretty = JSON.stringify(JSON.parse(text), null, 2);
    } catch {
      // It is no JSON, and is shown as it is.
    }
    shown.textContent = `${answer.status} ${answer.statusText}\n${pretty}`;
  } catch (error) {
    shown.textContent = String(error);
  }
};

fetch("/api/openapi.json").then((answer) => answer.json()).then((api) => {
  for (const operation of document.querySelectorAll("details.operation")) {
    const told = api.paths[operation.dataset.path][operation.dataset.method.toLowerCase()];
    const form = element("form");
    const fields = told.parameters.filter((each) => each.in !== "header")
      .map((each) => [each.name, element("input", { placeholder: each.name })]);
    const json = told.requestBody?.content["application/json"];
    const body = json && element("textarea", { value: json.example ? JSON.stringify(json.example, null, 2) : "{}" });
    const shown = element("pre");
    form.append(...fields.map(([, input]) => input));
    if (body) form.append(body);
    form.append(element("button", { textContent: "Send" }), shown);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      send(operation, fields, body, shown);
    });
    operation.append(element("h4", { textContent: "Try it" }), form);
  }
});
