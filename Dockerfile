# Two stages: the first has the compiler, the second only what runs. The engine needs glibc, so no Alpine.

FROM node:24-bookworm-slim AS build
WORKDIR /app
# The packages first: they change less often than the source, and the engine among them is half a gigabyte.
COPY package.json ./
RUN npm install --no-package-lock --no-audit --no-fund
COPY tsconfig.json asconfig.json ./
COPY src ./src
COPY workers ./workers
RUN npm run build && npm prune --omit=dev --no-package-lock --no-audit --no-fund

FROM node:24-bookworm-slim
ENV NODE_ENV=production \
    MILLRACE_HOST=0.0.0.0 \
    MILLRACE_DATA_DIR=/data
WORKDIR /app
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
COPY bin/millrace ./bin/millrace
COPY LICENSE README.md ./
COPY docs ./docs
# A volume takes its owner from the folder that it covers.
RUN mkdir /data && chown node:node /data
USER node
VOLUME /data
EXPOSE 7181
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s --retries=3 \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + (process.env.MILLRACE_PORT || 7181) + '/health/live').then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
# Flags may follow the image's name. Node is the first process, so SIGTERM reaches it and closes the service in order.
ENTRYPOINT ["bin/millrace"]
