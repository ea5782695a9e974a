// Command keda asks a scaler what KEDA asks, with KEDA's own scaler client.
//
// It reads one JSON command a line and writes one JSON event a line, so that the scenario is
// told elsewhere. Commands: poll (what the scale loop asks in one round), watch (keep the push
// streams of a trigger open) and unwatch. What the client itself logs, errors that it swallows and
// the length of its back-off among them, comes as events of kind log.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/go-logr/logr/funcr"
	"google.golang.org/grpc/status"
	v2 "k8s.io/api/autoscaling/v2"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/kedacore/keda/v2/pkg/scalers"
	"github.com/kedacore/keda/v2/pkg/scalers/scalersconfig"
)

// command is one line of the input.
type command struct {
	ID        string            `json:"id"`
	Do        string            `json:"do"`
	Namespace string            `json:"namespace"`
	Name      string            `json:"name"`
	Metadata  map[string]string `json:"metadata"`
	Auth      map[string]string `json:"auth"`
	Timeout   float64           `json:"timeout"` // seconds, of a poll
}

// spec is a metric as the HPA would get it.
type spec struct {
	Name    string `json:"name"`
	Average string `json:"average"`
}

// reading is the answer to GetMetrics and IsActive of one metric.
type reading struct {
	Name   string    `json:"name"`
	Values []float64 `json:"values"`
	Active bool      `json:"active"`
	Code   string    `json:"code"`
	Error  string    `json:"error,omitempty"`
}

// event is one line of the output.
type event struct {
	ID       string          `json:"id,omitempty"`
	Event    string          `json:"event"`
	Seconds  float64         `json:"seconds"` // since the program began; of a poll: what it took
	Active   *bool           `json:"active,omitempty"`
	Specs    []spec          `json:"specs,omitempty"`
	Readings []reading       `json:"readings,omitempty"`
	Error    string          `json:"error,omitempty"`
	Log      json.RawMessage `json:"log,omitempty"`
}

// program holds the open watches and serializes the output.
type program struct {
	began   time.Time
	mutex   sync.Mutex
	out     *json.Encoder
	watches map[string]context.CancelFunc // used by the reading loop alone
	pending sync.WaitGroup
}

func main() {
	p := &program{
		began:   time.Now(),
		out:     json.NewEncoder(os.Stdout),
		watches: map[string]context.CancelFunc{},
	}
	logf.SetLogger(funcr.NewJSON(func(line string) {
		p.emit(event{Event: "log", Log: json.RawMessage(line)})
	}, funcr.Options{Verbosity: 1}))
	p.read()
	for _, cancel := range p.watches {
		cancel()
	}
	p.pending.Wait()
}

// read carries out the commands of the input until it ends.
func (p *program) read() {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var c command
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			p.emit(event{Event: "refused", Error: err.Error()})
			continue
		}
		p.carryOut(c)
	}
}

func (p *program) carryOut(c command) {
	switch c.Do {
	case "poll":
		p.inBackground(func() { p.poll(c) })
	case "watch":
		ctx, cancel := context.WithCancel(context.Background())
		p.watches[c.ID] = cancel
		p.inBackground(func() { p.watch(ctx, c) })
	case "unwatch":
		if cancel, open := p.watches[c.ID]; open {
			cancel()
			delete(p.watches, c.ID)
		}
	default:
		p.emit(event{ID: c.ID, Event: "refused", Error: fmt.Sprintf("unknown command %q", c.Do)})
	}
}

func (p *program) inBackground(work func()) {
	p.pending.Add(1)
	go func() {
		defer p.pending.Done()
		work()
	}()
}

// poll asks once for the specs, then for the value and the activity of each.
func (p *program) poll(c command) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(c.Timeout*float64(time.Second)))
	defer cancel()
	scaler, err := scalers.NewExternalScaler(config(c, "external"))
	if err != nil {
		p.emit(event{ID: c.ID, Event: "refused", Error: err.Error()})
		return
	}
	defer scaler.Close(ctx)
	began := time.Now()
	specs := named(scaler.GetMetricSpecForScaling(ctx))
	readings := make([]reading, 0, len(specs))
	for _, s := range specs {
		readings = append(readings, ask(ctx, scaler, s.Name))
	}
	p.emit(event{
		ID: c.ID, Event: "polled", Specs: specs, Readings: readings, Seconds: time.Since(began).Seconds(),
	})
}

func ask(ctx context.Context, scaler scalers.Scaler, metric string) reading {
	values, active, err := scaler.GetMetricsAndActivity(ctx, metric)
	answer := reading{Name: metric, Values: []float64{}, Active: active, Code: status.Code(err).String()}
	if err != nil {
		answer.Error = err.Error()
	}
	for _, value := range values {
		answer.Values = append(answer.Values, value.Value.AsApproximateFloat64())
	}
	return answer
}

// watch keeps the push streams of a trigger open, with KEDA's reconnects, until ctx ends.
func (p *program) watch(ctx context.Context, c command) {
	scaler, err := scalers.NewExternalPushScaler(config(c, "external-push"))
	if err != nil {
		p.emit(event{ID: c.ID, Event: "refused", Error: err.Error()})
		return
	}
	defer scaler.Close(context.Background())
	if streamer, ok := scaler.(scalers.MetricSpecStreamer); ok {
		p.inBackground(func() {
			for specs := range streamer.MetricSpecChan() {
				p.emit(event{ID: c.ID, Event: "specs", Specs: named(specs), Seconds: p.now()})
			}
		})
	}
	states := make(chan bool)
	p.inBackground(func() { scaler.Run(ctx, states) }) // closes states when ctx ends
	for state := range states {
		p.emit(event{ID: c.ID, Event: "push", Active: &state, Seconds: p.now()})
	}
	p.emit(event{ID: c.ID, Event: "unwatched", Seconds: p.now()})
}

func config(c command, trigger string) *scalersconfig.ScalerConfig {
	return &scalersconfig.ScalerConfig{
		ScalableObjectName:      c.Name,
		ScalableObjectNamespace: c.Namespace,
		ScalableObjectType:      "ScaledObject",
		TriggerType:             trigger,
		TriggerMetadata:         c.Metadata,
		ResolvedEnv:             map[string]string{},
		AuthParams:              c.Auth,
		MetricType:              v2.AverageValueMetricType,
	}
}

func named(metrics []v2.MetricSpec) []spec {
	specs := make([]spec, 0, len(metrics))
	for _, metric := range metrics {
		specs = append(specs, spec{
			Name:    metric.External.Metric.Name,
			Average: metric.External.Target.AverageValue.String(),
		})
	}
	return specs
}

func (p *program) now() float64 { return time.Since(p.began).Seconds() }

func (p *program) emit(e event) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if e.Seconds == 0 {
		e.Seconds = p.now()
	}
	_ = p.out.Encode(e) // a reader that is gone takes the program with it
}
