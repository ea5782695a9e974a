FROM python:3.13-slim AS build
WORKDIR /src
COPY requirements/ requirements/
RUN python -m venv /wheel \
    && /wheel/bin/pip install --no-cache-dir --require-hashes -r requirements/build.txt \
    && python -m venv /opt/scaler \
    && /opt/scaler/bin/pip install --no-cache-dir --require-hashes -r requirements/runtime.txt
COPY pyproject.toml README.md LICENSE ./
COPY scaler/ scaler/
RUN /wheel/bin/pip wheel --no-deps --no-build-isolation --wheel-dir /dist . \
    && /opt/scaler/bin/pip install --no-cache-dir --no-deps /dist/*.whl

FROM python:3.13-slim
ARG VERSION=0.1.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="kueue-gpu-scaler" \
      org.opencontainers.image.description="An external KEDA scaler for GPU clusters under Kueue" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
COPY --from=build /opt/scaler /opt/scaler
ENV PATH=/opt/scaler/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1
# Any user will do: nothing is written, and OpenShift picks one of its own.
USER 65532:65532
EXPOSE 6000 8080
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s CMD ["python", "-c", \
    "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8080/healthz', timeout=2)"]
ENTRYPOINT ["kueue-gpu-scaler"]
CMD ["serve"]
