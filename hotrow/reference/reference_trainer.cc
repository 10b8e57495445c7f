#include "hotrow/reference/reference_trainer.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <utility>

namespace hotrow::reference {
namespace {

using Matrix = std::vector<double>;  // row-major; rows and columns are clear from the place

std::size_t U(std::int64_t i) { return static_cast<std::size_t>(i); }
std::int64_t Count(const std::vector<std::int64_t>& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

// y [n, out] = x [n, in] * w [out, in]^T, plus b [out] where there is one.
Matrix Linear(const Matrix& x, const Tensor& w, const Tensor* b) {
  const std::size_t out = U(w.shape[0]);
  const std::size_t in = U(w.shape[1]);
  const std::size_t n = x.size() / in;
  Matrix y(n * out, 0.0);
  for (std::size_t s = 0; s < n; ++s) {
    for (std::size_t o = 0; o < out; ++o) {
      double sum = b == nullptr ? 0.0 : b->data[o];
      for (std::size_t i = 0; i < in; ++i) sum += x[s * in + i] * w.data[o * in + i];
      y[s * out + o] = sum;
    }
  }
  return y;
}

// The backward of Linear: adds to the gradients of w and b, returns that of x.
Matrix LinearBackward(const Matrix& x, const Tensor& w, const Matrix& dy, Tensor& dw, Tensor* db) {
  const std::size_t out = U(w.shape[0]);
  const std::size_t in = U(w.shape[1]);
  const std::size_t n = x.size() / in;
  Matrix dx(n * in, 0.0);
  for (std::size_t s = 0; s < n; ++s) {
    for (std::size_t o = 0; o < out; ++o) {
      const double g = dy[s * out + o];
      if (db != nullptr) db->data[o] += g;
      for (std::size_t i = 0; i < in; ++i) {
        dw.data[o * in + i] += g * x[s * in + i];
        dx[s * in + i] += g * w.data[o * in + i];
      }
    }
  }
  return dx;
}

// A stack of linear layers; every layer but a final one without ReLU is followed by ReLU. `names` are the
// layers' prefixes.
struct Mlp {
  std::vector<std::string> names;
  bool last_is_linear = false;
  std::vector<Matrix> inputs = {};  // of each layer
  Matrix output = {};
  double relu_margin = std::numeric_limits<double>::infinity();

  bool HasRelu(std::size_t layer) const { return !(last_is_linear && layer + 1 == names.size()); }

  void Forward(const Tensors& p, Matrix x) {
    for (std::size_t l = 0; l < names.size(); ++l) {
      inputs.push_back(x);
      x = Linear(x, p.at(names[l] + ".weight"), &p.at(names[l] + ".bias"));
      if (HasRelu(l)) {
        for (double& value : x) {
          relu_margin = std::min(relu_margin, std::abs(value));
          value = value > 0 ? value : 0;
        }
      }
    }
    output = std::move(x);
  }

  Matrix Backward(const Tensors& p, Matrix dy, Tensors& gradients) const {
    for (std::size_t l = names.size(); l-- > 0;) {
      if (HasRelu(l)) {
        const Matrix& y = l + 1 == names.size() ? output : inputs[l + 1];
        for (std::size_t i = 0; i < dy.size(); ++i) {
          if (y[i] <= 0) dy[i] = 0;
        }
      }
      dy = LinearBackward(inputs[l], p.at(names[l] + ".weight"), dy, gradients.at(names[l] + ".weight"),
                          &gradients.at(names[l] + ".bias"));
    }
    return dy;
  }
};

std::vector<std::string> DenseArchNames(const ModelConfig& config) {
  std::vector<std::string> names;
  for (std::size_t l = 0; l < config.dense_arch.size(); ++l) {
    names.push_back("dense_arch.model._mlp." + std::to_string(l) + "._linear");
  }
  return names;
}

std::vector<std::string> OverArchNames(const ModelConfig& config) {
  std::vector<std::string> names;
  for (std::size_t l = 0; l + 1 < config.over_arch.size(); ++l) {
    names.push_back("over_arch.model.0._mlp." + std::to_string(l) + "._linear");
  }
  names.push_back("over_arch.model.1");
  return names;
}

std::string CrossName(const char* kind, std::size_t layer) {
  return std::string("inter_arch.crossnet.") + kind + "." + std::to_string(layer);
}

// x_{l+1} = x_0 * (W_l (V_l x_l) + b_l) + x_l
struct Cross {
  std::vector<Matrix> x;   // x_0 … x_L
  std::vector<Matrix> vx;  // V_l x_l
  std::vector<Matrix> y;   // W_l (V_l x_l) + b_l

  Matrix Forward(const Tensors& p, const Matrix& x0, std::int64_t layers) {
    x.push_back(x0);
    for (std::size_t l = 0; l < U(layers); ++l) {
      vx.push_back(Linear(x[l], p.at(CrossName("V_kernels", l)), nullptr));
      y.push_back(Linear(vx[l], p.at(CrossName("W_kernels", l)), &p.at(CrossName("bias", l))));
      Matrix next = x[l];
      for (std::size_t i = 0; i < next.size(); ++i) next[i] += x0[i] * y[l][i];
      x.push_back(next);
    }
    return x.back();
  }

  Matrix Backward(const Tensors& p, Matrix dx, Tensors& gradients) const {
    Matrix dx0(dx.size(), 0.0);
    for (std::size_t l = y.size(); l-- > 0;) {
      Matrix dy(dx.size());
      for (std::size_t i = 0; i < dx.size(); ++i) {
        dx0[i] += dx[i] * y[l][i];
        dy[i] = dx[i] * x[0][i];
      }
      const std::string v = CrossName("V_kernels", l);
      const std::string w = CrossName("W_kernels", l);
      const Matrix dvx =
          LinearBackward(vx[l], p.at(w), dy, gradients.at(w), &gradients.at(CrossName("bias", l)));
      const Matrix through = LinearBackward(x[l], p.at(v), dvx, gradients.at(v), nullptr);
      for (std::size_t i = 0; i < dx.size(); ++i) dx[i] += through[i];
    }
    for (std::size_t i = 0; i < dx.size(); ++i) dx[i] += dx0[i];
    return dx;
  }
};

// concat[dense, strict upper triangle of X X^T row by row], X the rows of x [n, vectors, dim].
Matrix Dot(const Matrix& x, std::size_t vectors, std::size_t dim) {
  const std::size_t n = x.size() / (vectors * dim);
  Matrix out;
  for (std::size_t s = 0; s < n; ++s) {
    const double* rows = &x[s * vectors * dim];
    out.insert(out.end(), rows, rows + dim);
    for (std::size_t i = 0; i < vectors; ++i) {
      for (std::size_t j = i + 1; j < vectors; ++j) {
        out.push_back(std::inner_product(rows + i * dim, rows + (i + 1) * dim, rows + j * dim, 0.0));
      }
    }
  }
  return out;
}

Matrix DotBackward(const Matrix& x, std::size_t vectors, std::size_t dim, const Matrix& dy) {
  const std::size_t n = x.size() / (vectors * dim);
  Matrix dx(x.size(), 0.0);
  std::size_t at = 0;
  for (std::size_t s = 0; s < n; ++s) {
    const double* rows = &x[s * vectors * dim];
    double* d = &dx[s * vectors * dim];
    for (std::size_t c = 0; c < dim; ++c) d[c] += dy[at++];
    for (std::size_t i = 0; i < vectors; ++i) {
      for (std::size_t j = i + 1; j < vectors; ++j, ++at) {
        for (std::size_t c = 0; c < dim; ++c) {
          d[i * dim + c] += dy[at] * rows[j * dim + c];
          d[j * dim + c] += dy[at] * rows[i * dim + c];
        }
      }
    }
  }
  return dx;
}

const EmbeddingTableConfig& TableOf(const ModelConfig& config, const std::string& feature) {
  for (const EmbeddingTableConfig& table : config.tables) {
    for (const std::string& name : table.feature_names) {
      if (name == feature) return table;
    }
  }
  throw std::invalid_argument("no table serves feature " + feature);
}

bool IsTable(const std::string& parameter) { return parameter.starts_with("sparse_arch."); }

// How much an id's row counts in its bag's pooled row.
double Share(const Bag& bag, std::size_t id, PoolingType pooling) {
  const double weight = bag.weights.empty() ? 1.0 : bag.weights[id];
  if (pooling == PoolingType::kSum) return weight;
  std::int64_t counted = 0;
  for (const std::int64_t other : bag.ids) counted += other >= 0;
  return weight / static_cast<double>(counted);
}

}  // namespace

Tensor Zeros(std::vector<std::int64_t> shape) {
  const std::int64_t count = Count(shape);
  return {std::move(shape), std::vector<double>(U(count), 0.0)};
}

std::string TableParameterName(const std::string& table) {
  return "sparse_arch.embedding_bag_collection.embedding_bags." + table + ".weight";
}

Tensors ZeroParameters(const ModelConfig& config) {
  Tensors p;
  const auto add_mlp = [&](const std::vector<std::string>& names, std::int64_t in,
                           const std::vector<std::int64_t>& sizes) {
    for (std::size_t l = 0; l < names.size(); ++l) {
      p[names[l] + ".weight"] = Zeros({sizes[l], in});
      p[names[l] + ".bias"] = Zeros({sizes[l]});
      in = sizes[l];
    }
  };
  const std::int64_t vectors = config.num_features() + 1;
  std::int64_t over_in = config.dense_dim() + vectors * (vectors - 1) / 2;
  if (config.interaction == Interaction::kCross) {
    over_in = config.InteractionWidth();
    for (std::size_t l = 0; l < U(config.dcn_num_layers); ++l) {
      p[CrossName("V_kernels", l)] = Zeros({config.dcn_low_rank, over_in});
      p[CrossName("W_kernels", l)] = Zeros({over_in, config.dcn_low_rank});
      p[CrossName("bias", l)] = Zeros({over_in});
    }
  }
  add_mlp(DenseArchNames(config), config.num_dense, config.dense_arch);
  add_mlp(OverArchNames(config), over_in, config.over_arch);
  for (const EmbeddingTableConfig& table : config.tables) {
    p[TableParameterName(table.name)] = Zeros({table.num_embeddings, table.embedding_dim});
  }
  return p;
}

std::vector<double> Pool(const Tensor& table, PoolingType pooling, const Bags& bags) {
  const std::size_t dim = U(table.shape[1]);
  Matrix out(bags.size() * dim, 0.0);
  for (std::size_t s = 0; s < bags.size(); ++s) {
    for (std::size_t k = 0; k < bags[s].ids.size(); ++k) {
      const std::int64_t row = bags[s].ids[k];
      if (row < 0) continue;
      const double share = Share(bags[s], k, pooling);
      for (std::size_t c = 0; c < dim; ++c) out[s * dim + c] += share * table.data.at(U(row) * dim + c);
    }
  }
  return out;
}

void AddPoolGradient(const std::vector<double>& output_gradient, PoolingType pooling, const Bags& bags,
                     Tensor& table_gradient, std::set<std::int64_t>& touched) {
  const std::size_t dim = U(table_gradient.shape[1]);
  for (std::size_t s = 0; s < bags.size(); ++s) {
    for (std::size_t k = 0; k < bags[s].ids.size(); ++k) {
      const std::int64_t row = bags[s].ids[k];
      if (row < 0) continue;
      touched.insert(row);
      const double share = Share(bags[s], k, pooling);
      for (std::size_t c = 0; c < dim; ++c) {
        table_gradient.data.at(U(row) * dim + c) += share * output_gradient[s * dim + c];
      }
    }
  }
}

Trainer::Trainer(ModelConfig config, OptimizerConfig dense, bool unfused, Tensors parameters)
    : config_(std::move(config)), dense_(dense), unfused_(unfused), parameters_(std::move(parameters)) {
  // One accumulator a row has no meaning for dense parameters: Adagrad stands for it.
  if (dense_.kind == OptimizerKind::kRowWiseAdagrad) dense_.kind = OptimizerKind::kAdagrad;
}

Evaluation Trainer::Evaluate(const Batch& batch) const {
  const Tensors& p = parameters_;
  const std::size_t n = batch.dense.size() / U(config_.num_dense);
  // Of the dense arch's output and of each feature: its width, and where it begins in a sample's x.
  std::vector<std::size_t> dims = {U(config_.dense_dim())};
  for (const std::string& feature : config_.features)
    dims.push_back(U(TableOf(config_, feature).embedding_dim));
  std::vector<std::size_t> first = {0};
  for (const std::size_t dim : dims) first.push_back(first.back() + dim);
  const std::size_t width = first.back();

  Mlp dense_arch{.names = DenseArchNames(config_)};
  dense_arch.Forward(p, batch.dense);
  Matrix x(n * width);
  for (std::size_t v = 0; v < dims.size(); ++v) {
    Matrix part = dense_arch.output;
    if (v > 0) {
      const EmbeddingTableConfig& table = TableOf(config_, config_.features[v - 1]);
      part = Pool(p.at(TableParameterName(table.name)), table.pooling, batch.features[v - 1]);
    }
    for (std::size_t s = 0; s < n; ++s) std::copy_n(&part[s * dims[v]], dims[v], &x[s * width + first[v]]);
  }
  Cross cross;
  const bool is_cross = config_.interaction == Interaction::kCross;
  Mlp over_arch{.names = OverArchNames(config_), .last_is_linear = true};
  over_arch.Forward(p, is_cross ? cross.Forward(p, x, config_.dcn_num_layers) : Dot(x, dims.size(), dims[0]));

  Evaluation e;
  e.logits = over_arch.output;
  e.relu_margin = std::min(dense_arch.relu_margin, over_arch.relu_margin);
  if (batch.labels.empty()) return e;

  const std::vector<double> weights =
      batch.sample_weights.empty() ? std::vector<double>(n, 1.0) : batch.sample_weights;
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  Matrix dy(n, 0.0);
  for (std::size_t s = 0; s < n && total > 0; ++s) {
    const double z = e.logits[s];
    const double y = batch.labels[s];
    const double share = weights[s] / total;
    e.loss += share * (std::max(z, 0.0) - z * y + std::log1p(std::exp(-std::abs(z))));
    dy[s] = share * (1 / (1 + std::exp(-z)) - y);
  }
  e.gradients = ZeroParameters(config_);
  dy = over_arch.Backward(p, dy, e.gradients);
  Matrix dx = is_cross ? cross.Backward(p, dy, e.gradients) : DotBackward(x, dims.size(), dims[0], dy);
  for (std::size_t v = 0; v < dims.size(); ++v) {
    Matrix part(n * dims[v]);
    for (std::size_t s = 0; s < n; ++s) std::copy_n(&dx[s * width + first[v]], dims[v], &part[s * dims[v]]);
    if (v == 0) {
      dense_arch.Backward(p, part, e.gradients);
      continue;
    }
    e.dpooled.insert(e.dpooled.end(), part.begin(), part.end());
    const EmbeddingTableConfig& table = TableOf(config_, config_.features[v - 1]);
    const std::string name = TableParameterName(table.name);
    AddPoolGradient(part, table.pooling, batch.features[v - 1], e.gradients.at(name), e.touched[name]);
  }
  return e;
}

void Trainer::ClipDense(Tensors& gradients) const {
  double squares = 0;
  for (const auto& [name, gradient] : gradients) {
    if (IsTable(name)) continue;
    squares += std::inner_product(gradient.data.begin(), gradient.data.end(), gradient.data.begin(), 0.0);
  }
  const double norm = std::sqrt(squares);
  if (clip_norm_ <= 0 || norm <= clip_norm_) return;
  for (auto& [name, gradient] : gradients) {
    if (IsTable(name)) continue;
    for (double& g : gradient.data) g *= clip_norm_ / norm;
  }
}

Evaluation Trainer::Step(const Batch& batch) {
  Evaluation e = Evaluate(batch);
  ++step_;
  const OptimizerStep step(step_, RateFactor(schedule_, step_));
  Tensors gradients = e.gradients;
  ClipDense(gradients);
  const auto update = [&](const std::string& name, const OptimizerConfig& optimizer, bool all_rows) {
    Tensor& parameter = parameters_.at(name);
    Update(optimizer, step, gradients.at(name), all_rows ? AllRows(parameter) : e.touched[name], parameter,
           state_[name], gradient_error_);
  };
  for (const EmbeddingTableConfig& table : config_.tables)
    update(TableParameterName(table.name), table.optimizer, unfused_);
  for (const auto& [name, parameter] : parameters_) {
    if (!IsTable(name)) update(name, dense_, true);
  }
  return e;
}

}  // namespace hotrow::reference
