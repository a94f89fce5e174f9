// Shows a task, and what its page needs, while there is no network. The page says what is kept.
"use strict";

addEventListener("install", () => skipWaiting());
addEventListener("activate", (event) => event.waitUntil(clients.claim()));
addEventListener("fetch", (event) => {
    const { request } = event;
    if (request.method !== "GET" || !/^\/(static|r\/[^/]+\/t)\//.test(new URL(request.url).pathname)) return;
    const kept = async () => (await caches.match(request, { ignoreVary: true })) ?? Response.error();
    event.respondWith(fetch(request).catch(kept));
});
