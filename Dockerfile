# One image for every service of docker-compose.yml; the command says which it is.
FROM python:3.13.9-slim-bookworm AS build
RUN pip install --no-cache-dir uv==0.13.9
WORKDIR /app
ENV UV_COMPILE_BYTECODE=1 UV_LINK_MODE=copy UV_PYTHON_DOWNLOADS=never
COPY pyproject.toml uv.lock README.md LICENSE ./
RUN uv sync --frozen --no-dev --no-install-project
COPY producer producer
COPY workers workers
COPY shared shared
COPY emulators emulators
RUN uv sync --frozen --no-dev --no-editable

FROM python:3.13.9-slim-bookworm
RUN groupadd --gid 10001 scrimmage && useradd --uid 10001 --gid 10001 --create-home scrimmage \
    && mkdir -p /data/archive /data/pool && chown -R scrimmage:scrimmage /data
COPY --from=build /app/.venv /app/.venv
ENV PATH=/app/.venv/bin:$PATH PYTHONUNBUFFERED=1 SCRIMMAGE_ARCHIVE=/data/archive SCRIMMAGE_DATA=/data/pool
USER scrimmage
WORKDIR /data
ENTRYPOINT []
CMD ["scrimmage", "--help"]
